import type { BaseMessage } from "@langchain/core/messages";
import { splitRounds } from "../../messages/rounds.js";
import type { StoredEntry } from "../../session/view.js";
import { answeredId, callsOf, type Call } from "../../messages/calls.js";
import { textOf } from "../../messages/content.js";
import { refusedMarkOf, roleOf, speakerOf } from "../../messages/roles.js";
import { repairConversation } from "../../structure/repair-conversation.js";
import type { StructureRepair } from "../../structure/repair/session.js";
import { answerStart } from "../../session/turn-messages.js";
import type { OpenTurn } from "../../turns/open-turn.js";
import { isQuestion } from "../turn/rendered-question.js";
import type { LoopStep } from "../turn/turn.js";
import type { ToolResult } from "../turn/tool-results.js";

/** The stored messages, by how a window treats them. */
export interface StoredHistory {
  /** The view's system messages and summaries; they come before all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** Oldest first. Each is valid model input. */
  readonly rounds: readonly (readonly BaseMessage[])[];
  /** The current turn's user message, if it is stored already. */
  readonly current: BaseMessage | undefined;
  /** True where that message is stored, or was stored and then discarded. */
  readonly isAsked: boolean;
  /** The text of the question as it stands in `current`; undefined where that does not begin with it. */
  readonly question: string | undefined;
  /** The steps of the current turn that are stored already, where an earlier run stored a part of it. */
  readonly steps: readonly LoopStep[];
  /** Repairs of messages that a model would refuse, such as calls without results. The stored messages stay as is. */
  readonly repairs: readonly StructureRepair[];
}

/**
 * Sorts what is stored. The current turn's question is the one that was stored under its name, else a user's message at
 * the end that begins with one of `questions`: the original text, as it was said and as it is stored. Linear.
 */
export function readStoredHistory(
  { state, history, stored, isQuestionGone }: Pick<OpenTurn, "state" | "history" | "stored" | "isQuestionGone">,
  questions: readonly string[],
): StoredHistory {
  const start = answerStart(stored);
  const asked = stored.slice(0, start).map(({ message }) => message);
  const all = [...history, ...asked];
  const place = asked.findLastIndex((message) => roleOf(message) === "human");
  const last = all.at(-1);
  const current = place >= 0 ? asked[place] : questions.some((text) => isQuestion(last, text)) ? last : undefined;
  const earlier = all.filter((message) => message !== current);
  const isPinned = (message: BaseMessage) => roleOf(message) === "system" || roleOf(message) === "summary";
  // System messages must come first. By type, because a provider sees a summary as whatever its type says.
  const pinned = earlier.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b));
  // As model input, because the user's message follows: calls at the end will never get a result.
  const { messages, repairs } = repairConversation(
    earlier.filter((message) => !isPinned(message)),
    { purpose: "model-input" },
  );
  return {
    pinned,
    rounds: splitRounds(messages).map((round) => round.messages),
    current,
    isAsked: current !== undefined || isQuestionGone,
    question: questions.find((text) => isQuestion(current, text)),
    steps: state === "open" ? storedSteps(stored.slice(start)) : [],
    repairs,
  };
}

function placeOf(message: BaseMessage): number {
  return speakerOf(message) === "system" ? 0 : 1;
}

/** The steps of an open turn that are whole, without marks of refused requests. */
function storedSteps(entries: readonly StoredEntry[]): LoopStep[] {
  const steps: { message: BaseMessage; results: (ToolResult | undefined)[] }[] = [];
  for (const { message } of entries) {
    const role = roleOf(message);
    if (role === "ai" && refusedMarkOf(message) === undefined) {
      steps.push({ message, results: callsOf(message).map(() => undefined) });
    } else if (role === "tool") {
      const step = steps.at(-1);
      const calls = step === undefined ? [] : callsOf(step.message);
      const at = calls.findIndex(({ id }) => id !== undefined && id === answeredId(message));
      if (at >= 0) {
        step!.results[at] = storedResult(message, calls[at]!);
      }
    }
  }
  return steps.filter(({ results }) => results.every((result) => result !== undefined));
}

function storedResult(message: BaseMessage, { id, name }: Call): ToolResult {
  return {
    callId: id!,
    name: message.name ?? name,
    failed: (message as unknown as { readonly status?: string }).status === "error",
    text: textOf(message),
    chunks: [],
    sources: [],
    reminder: undefined,
    images: [],
  };
}
