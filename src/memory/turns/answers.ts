import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage } from "../../store/codec/encode-message.js";
import { roleOf } from "../../conversation/messages/message.js";

/**
 * The messages of an output that are new: all behind the last message that was sent, whatever their ids; where it is
 * not in the output, all that the request does not hold. Where nothing is behind it, the answer that a graph put into
 * the place of an earlier one, because their ids are equal. An output of nothing but known messages ends in its answer:
 * a cache gives the same words, even the same object, again. Linear.
 */
export function newAnswers(sent: readonly BaseMessage[], output: readonly BaseMessage[]): BaseMessage[] {
  const last = sent.at(-1);
  const at = output.findLastIndex((message) => message === last || isSameId(message, last));
  if (at >= 0 && at + 1 < output.length) {
    return output.slice(at + 1);
  }
  const objects = new Set(sent);
  const byId = new Map(sent.map((message) => [message.id, message]));
  const isKnown = (message: BaseMessage) => objects.has(message) || isRepeated(message, byId.get(message.id));
  if (at >= 0) {
    const isReplaced = (message: BaseMessage) =>
      roleOf(message) === "ai" && !objects.has(message) && isSameId(message, byId.get(message.id));
    const replaced = output.filter(isReplaced);
    const changed = replaced.filter((message) => !isKnown(message));
    return changed.length > 0 || replaced.length > 1 ? changed : replaced;
  }
  const repeated = sharedBeginning(sent, output);
  const rest = repeated === sent.length ? output.slice(repeated) : output;
  const answers = rest.filter((message) => !isKnown(message));
  return answers.length === 0 ? rest.slice(-1) : answers;
}

function isSameId(message: BaseMessage, other: BaseMessage | undefined): boolean {
  return message.id !== undefined && message.id === other?.id && roleOf(message) === roleOf(other);
}

/** True for a message under the id of one that was sent; for an answer only with its words, since ids may repeat. */
function isRepeated(message: BaseMessage, sent: BaseMessage | undefined): boolean {
  if (sent === undefined || !isSameId(message, sent)) {
    return false;
  }
  return roleOf(message) !== "ai" || digestMessage(message) === digestMessage(sent);
}

/** Number of messages with which an output repeats the request; an output that is shorter repeats none. */
function sharedBeginning(sent: readonly BaseMessage[], output: readonly BaseMessage[]): number {
  let length = 0;
  while (output.length >= sent.length && length < sent.length) {
    const [before, after] = [sent[length]!, output[length]!];
    if (before !== after && !isSameId(after, before) && digestMessage(before) !== digestMessage(after)) {
      break;
    }
    length += 1;
  }
  return length;
}
