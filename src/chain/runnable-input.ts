import { isBaseMessage } from "@langchain/core/messages";
import type { ModelInput } from "../turns/model-input.js";
import { isMessageLike } from "./answer-key.js";
import { inputKey, isPlainInput, type ChainInput } from "./chain-messages.js";
import type { ChainOptions } from "./chain-options.js";

/**
 * What the runnable is given: the conversation as a list, or under a key; with a key for the history, the history under
 * that and what the user said now under its own.
 */
export function runnableInput(
  input: ChainInput,
  { history, turn }: ModelInput,
  { inputMessagesKey, historyMessagesKey }: Pick<ChainOptions, "inputMessagesKey" | "historyMessagesKey">,
): unknown {
  const sent = [...history, ...turn];
  if (historyMessagesKey === undefined && inputMessagesKey === undefined) {
    return sent;
  }
  const fields: Readonly<Record<string, unknown>> = isPlainInput(input)
    ? input
    : { [inputMessagesKey ?? "input"]: input };
  const key = inputKey(fields, inputMessagesKey);
  if (historyMessagesKey === undefined) {
    return { ...fields, [key]: sent };
  }
  return { ...fields, [key]: saidNow(fields[key], turn), [historyMessagesKey]: history };
}

/** The input's messages without those that are history; a text stays a text, and one message stays one. */
function saidNow(value: unknown, turn: ModelInput["turn"]): unknown {
  if (typeof value === "string" || value === undefined) {
    return value;
  }
  if (isMessageLike(value)) {
    return isBaseMessage(value) && turn.length === 1 ? turn[0] : value;
  }
  return turn;
}
