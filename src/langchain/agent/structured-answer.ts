import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../messages/content.js";
import { isRecord } from "../../messages/values.js";

/** What is known of langchain's strategies, and of a zod schema, which is one too. */
interface Strategy {
  readonly name?: unknown;
  parse?(value: unknown): unknown;
}

type Structured = Record<string, unknown>;

/** How the tools are named that langchain makes of schemas without a name. */
const madeName = "extract-";

/**
 * The structured response that a stored answer gave: the arguments of its call of the response's tool, else the JSON
 * text of its last message, as the agent's response format reads them. Undefined without a format.
 */
export function structuredAnswer(answer: readonly BaseMessage[], responseFormat: unknown): Structured | undefined {
  const formats = (Array.isArray(responseFormat) ? responseFormat : [responseFormat]) as (Strategy | undefined)[];
  const calls = answer.flatMap((message) => (message as AIMessage).tool_calls ?? []);
  const named = formats.flatMap((format) => (typeof format?.name === "string" ? [format.name] : []));
  const call = calls.findLast(({ name }) => named.includes(name) || name.startsWith(madeName));
  const last = answer.at(-1);
  if (responseFormat === undefined || last === undefined) {
    return undefined;
  }
  if (call !== undefined) {
    const format = formats.find((candidate) => candidate?.name === call.name) ?? formats[0];
    return readBy(format, [call.args]) ?? (call.args as Structured);
  }
  // A schema reads the value, and a provider's strategy reads the message.
  const value = jsonIn(textOf(last));
  return value === undefined ? undefined : (readBy(formats[0], [value, last]) ?? value);
}

function readBy(format: Strategy | undefined, values: readonly unknown[]): Structured | undefined {
  for (const value of values) {
    try {
      const read = format?.parse?.(value);
      if (isRecord(read)) {
        return read;
      }
    } catch {
      // Not of this form.
    }
  }
  return undefined;
}

function jsonIn(text: string): Structured | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
