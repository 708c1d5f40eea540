import * as z from "zod/mini";
import { ConfigurationError } from "../base/errors.js";
import { lazy, parseOptions } from "../base/options.js";
import { copyJson, isPlainObject } from "./json-value.js";
import { nonEmpty } from "./message-schema.js";
import type { OpenAIMessage } from "./message.js";
import { parseArguments } from "./conversion/tool-call-conversion.js";

/** A call that no model made, with its result: models trust facts from tools more than facts from a system message. */
export interface SimulatedCall {
  /** Must differ from the ids of all calls in the history. */
  readonly id: string;
  /** Name of the tool. */
  readonly name: string;
  /** An object, or the JSON text of one. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
  /** Text is kept as it is; any other value becomes JSON. */
  readonly result: unknown;
}

const owner = "MessageHistory.addSimulatedCalls";

const callsSchema = lazy(() =>
  z.object({
    calls: z
      .array(
        z.strictObject({
          id: nonEmpty(),
          name: nonEmpty(),
          arguments: z.custom(
            (value) => isPlainObject(value) || (typeof value === "string" && parseArguments(value) !== undefined),
            "must be an object or the JSON text of an object",
          ),
          result: z
            .unknown()
            .check(
              z.refine((value) => value !== undefined, "must be present; use null or an empty string for no result"),
            ),
        }),
        "must be an array of calls with id, name, arguments and result",
      )
      .check(z.minLength(1, "must hold at least one call")),
  }),
);

/**
 * Creates the messages of simulated calls: an assistant message with all of them, then a tool message for each result,
 * in order.
 *
 * @throws ConfigurationError for an invalid call, and for an id that is in `usedIds` or used twice.
 */
export function simulatedMessages(calls: readonly SimulatedCall[], usedIds: ReadonlySet<string>): OpenAIMessage[] {
  parseOptions(owner, callsSchema(), { calls });
  const seen = new Set(usedIds);
  for (const [index, { id }] of calls.entries()) {
    if (seen.has(id)) {
      throw new ConfigurationError(
        `calls.${index}.id`,
        `${owner}: the id of call ${index} is already in use; results are matched by id, so give each call its own.`,
      );
    }
    seen.add(id);
  }
  const written = calls.map(({ id, name, arguments: args, result }, index) => ({
    id,
    name,
    arguments: textOf(args, `calls.${index}.arguments`),
    result: textOf(result, `calls.${index}.result`),
  }));
  return [
    {
      role: "assistant",
      tool_calls: written.map(({ id, name, arguments: text }) => ({
        id,
        type: "function",
        function: { name, arguments: text },
      })),
    },
    ...written.map(({ id, name, result }): OpenAIMessage => ({
      role: "tool",
      content: result,
      name,
      tool_call_id: id,
    })),
  ];
}

function textOf(value: unknown, place: string): string {
  return typeof value === "string" ? value : JSON.stringify(copyJson(value, place));
}
