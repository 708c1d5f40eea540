import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { blocksOf } from "../../messages/content.js";
import { isThought } from "../../messages/copies/thoughts.js";
import type { Speaker } from "../../messages/roles.js";
import type { ReportFinding, StructureContext } from "./rules.js";

/** True for an answer that begins with a thought. */
export function beginsWithThought(message: BaseMessage): boolean {
  return isThought(blocksOf(message)[0]);
}

/** Checks the thought of a turn's first step, where the model goes on with the turn: rule S33. */
export function checkFirstThought(context: StructureContext, report: ReportFinding): void {
  const index = thoughtlessStart(context);
  if (index !== -1) {
    report({ rule: "S33", index, message: "The turn that goes on does not begin with the model's thought." });
  }
}

/** Index of the answer with which a turn with calls begins, if it does not begin with a thought; else -1. */
export function thoughtlessStart({
  messages,
  speakers,
  purpose,
  lastUser,
}: Pick<StructureContext, "messages" | "speakers" | "purpose" | "lastUser">): number {
  if (purpose !== "model-input") {
    return -1;
  }
  const first = speakers.indexOf("assistant", lastUser + 1);
  const goesOn = first !== -1 && messages.slice(first).some((message) => callsOf(message).length > 0);
  return goesOn && !beginsWithThought(messages[first]!) ? first : -1;
}

/**
 * Checks that late system messages stand behind the last of the user's messages or tool results before an answer: rule
 * S34. At the end of a history one waits for the user's next message.
 */
export function checkLateSystems({ speakers, purpose }: StructureContext, report: ReportFinding): void {
  const front = speakers.findIndex((speaker) => speaker !== "system");
  let next: Speaker | undefined;
  for (let index = speakers.length - 1; index > front && front !== -1; index -= 1) {
    const speaker = speakers[index]!;
    const waits = purpose === "history" && next === undefined;
    if (speaker === "system" && !waits && (isAsking(next) || !isAsking(speakers[index - 1]))) {
      const message = "A late system message does not stand right behind the newest message of the user.";
      report({ rule: "S34", index, message });
    }
    next = speaker === "system" ? next : speaker;
  }
}

/** True for a speaker whose messages go out as the user's. */
export function isAsking(speaker: Speaker | undefined): boolean {
  return speaker === "user" || speaker === "tool";
}
