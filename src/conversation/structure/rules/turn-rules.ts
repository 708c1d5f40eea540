import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { blocksOf } from "../../messages/content.js";
import { isThought } from "../../messages/copies/thoughts.js";
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
