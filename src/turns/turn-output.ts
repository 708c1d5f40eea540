import type { BaseMessage } from "@langchain/core/messages";
import { metaOf, type TurnOutput } from "../codec/record-meta.js";
import { textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import type { StoredMessage } from "../session/turn-messages.js";

/** The output of a stored turn, and the messages of which it is made. */
export interface StoredOutput {
  readonly value: unknown;
  readonly messages: readonly BaseMessage[];
}

/**
 * The output of a stored turn, as its runnable gave it; undefined where it cannot be given again. `sent` is what an
 * output that repeats the conversation begins with.
 */
export function storedOutput(
  own: readonly StoredMessage[],
  sent: readonly BaseMessage[] = [],
): StoredOutput | undefined {
  const last = own.at(-1);
  const output = last && metaOf(last.record).output;
  if (output === undefined || output.count > own.length) {
    return undefined;
  }
  const messages = own.slice(-output.count).map(({ message }) => message);
  const answer = messages.findLast((message) => roleOf(message) === "ai") ?? messages.at(-1)!;
  const value = { message: answer, messages, text: textOf(answer), conversation: [...sent, ...messages] }[output.as];
  return { value: output.key === undefined ? value : { [output.key]: value }, messages };
}

/** What to store about an output, so that it can be given again; undefined for one that cannot. */
export function describeOutput(as: TurnOutput["as"], count: number, key: string | undefined): TurnOutput | undefined {
  return count < 1 ? undefined : { as, count, ...(key !== undefined && { key }) };
}
