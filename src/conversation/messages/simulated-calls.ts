import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { copyJson, isPlainObject, parseArguments } from "../../base/json.js";
import { lazy, nonEmptyText, parseOptions } from "../../base/options.js";

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

/** A checked call, with arguments and result as text. */
export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly result: string;
}

const callsSchema = lazy(() =>
  z.object({
    calls: z
      .array(
        z.strictObject({
          id: nonEmptyText(),
          name: nonEmptyText(),
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
 * The calls as they are written.
 *
 * @throws ConfigurationError naming `owner`, for an invalid call, and for an id that is in `usedIds` or used twice.
 */
export function writeCalls(
  owner: string,
  calls: readonly SimulatedCall[],
  usedIds: Iterable<string> = [],
): readonly WrittenCall[] {
  parseOptions(owner, callsSchema(), { calls });
  const seen = new Set(usedIds);
  return calls.map(({ id, name, arguments: args, result }, index) => {
    if (seen.has(id)) {
      throw new ConfigurationError(
        `calls.${index}.id`,
        `${owner}: the id of call ${index} is already in use; results are matched by id, so give each call its own.`,
      );
    }
    seen.add(id);
    const place = `calls.${index}`;
    return { id, name, arguments: textOf(args, `${place}.arguments`), result: textOf(result, `${place}.result`) };
  });
}

function textOf(value: unknown, place: string): string {
  return typeof value === "string" ? value : JSON.stringify(copyJson(value, place));
}

/**
 * The messages of simulated calls: one with all of them, then a tool message for each result, in order. Their ids
 * follow from the calls', so that the same calls are the same messages.
 */
export function simulatedTurn(owner: string, calls: readonly SimulatedCall[]): BaseMessage[] {
  const written = writeCalls(owner, calls);
  const made = new AIMessage({
    id: `simulated-call-${written[0]!.id}`,
    content: "",
    tool_calls: written.map(({ id, name, arguments: text }) => {
      return { type: "tool_call", id, name, args: parseArguments(text)! };
    }),
  });
  const results = written.map(({ id, name, result }) => {
    return new ToolMessage({ id: `simulated-result-${id}`, content: result, name, tool_call_id: id });
  });
  return [made, ...results];
}
