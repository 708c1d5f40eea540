import type { BaseMessage } from "@langchain/core/messages";
import { answeredCallId, roleOf } from "../conversation/roles.js";
import { splitRounds } from "../conversation/rounds.js";
import { stepsOf } from "../conversation/steps.js";
import { callsOf } from "../conversation/structure/message-parts.js";
import { validateConversation } from "../conversation/structure/index.js";
import { textOf } from "../conversation/text.js";

/** What is stored of earlier turns, sorted by how it is kept. */
export interface StoredHistory {
  /** System messages and summaries that the view holds: above all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** Oldest first. Each can be sent as it is. */
  readonly rounds: readonly (readonly BaseMessage[])[];
  /** The current turn's user message, where the application has stored it already. */
  readonly current: BaseMessage | undefined;
  /** Messages that no model would accept: calls without results, and what belongs to them. They stay stored. */
  readonly broken: readonly BaseMessage[];
}

/** Sorts a view. The last message is the current turn's if it is human and says exactly `originalUserMessage`. Linear. */
export function readStoredHistory(view: readonly BaseMessage[], originalUserMessage: string): StoredHistory {
  const last = view.at(-1);
  const current = last !== undefined && roleOf(last) === "human" && textOf(last) === originalUserMessage ? last : undefined;
  const earlier = current === undefined ? view : view.slice(0, -1);
  const isPinned = (message: BaseMessage) => roleOf(message) === "system" || roleOf(message) === "summary";
  // Stable, and by type: a provider sees a summary as what its type says, and system messages belong at the front.
  const pinned = earlier.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b));
  const split = splitRounds(earlier.filter((message) => !isPinned(message))).map(({ messages }) => soundPart(messages));
  const rounds = split.map(({ sound }) => sound).filter((round) => round.length > 0);
  return { pinned, rounds, current, broken: split.flatMap(({ broken }) => broken) };
}

function placeOf(message: BaseMessage): number {
  return message.getType() === "human" || message.getType() === "ai" ? 1 : 0;
}

/** The part of a round that every model accepts: whole steps only; nothing of it where that is not enough. */
function soundPart(messages: readonly BaseMessage[]): { readonly sound: BaseMessage[]; readonly broken: BaseMessage[] } {
  const whole = new Set<number>();
  for (const { indexes } of stepsOf(messages)) {
    if (isWholeStep(messages, indexes)) {
      indexes.forEach((index) => whole.add(index));
    }
  }
  const keeps = (message: BaseMessage, index: number) => whole.has(index) || (roleOf(message) !== "ai" && roleOf(message) !== "tool");
  const sound = messages.filter(keeps);
  const refused = validateConversation(sound, { purpose: "model-input" }).some(({ rule, severity }) => severity === "error" && !endRules.has(rule));
  return refused ? { sound: [], broken: [...messages] } : { sound, broken: messages.filter((message, index) => !keeps(message, index)) };
}

/** What a round inside a conversation need not keep: it may end on the model's word. */
const endRules: ReadonlySet<string> = new Set(["S01", "S05"]);

function isWholeStep(messages: readonly BaseMessage[], indexes: readonly number[]): boolean {
  const [first = 0, ...results] = indexes;
  const calls = callsOf(messages[first]!).map(({ id }) => id);
  const answered = results.map((index) => answeredCallId(messages[index]!));
  const together = results.every((index, place) => index === first + 1 + place);
  const answers = new Set(answered);
  const everyCallOnce = new Set(calls).size === calls.length && answers.size === answered.length && calls.every((id) => answers.has(id));
  return together && everyCallOnce && calls.length === answered.length;
}
