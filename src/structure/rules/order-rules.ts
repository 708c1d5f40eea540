import type { ReportFinding, StructureContext } from "./context.js";
import { callsOf } from "../../messages/calls.js";

/** Finds what is wrong with the order of speakers: rules S01 to S06 and S25. */
export function checkOrder(context: StructureContext, report: ReportFinding): void {
  checkSystemMessages(context, report);
  checkBeginning(context, report);
  checkNeighbours(context, report);
  checkEnd(context, report);
}

function checkSystemMessages({ speakers }: StructureContext, report: ReportFinding): void {
  const front = speakers.findIndex((speaker) => speaker !== "system");
  let seen = false;
  speakers.forEach((speaker, index) => {
    if (speaker !== "system") {
      return;
    }
    if (front !== -1 && index > front) {
      report({
        rule: "S03",
        index,
        message: "A system message comes after other messages; it belongs at the front.",
      });
    }
    if (seen) {
      report({ rule: "S04", index, message: "This is not the first system message; only one is accepted." });
    }
    seen = true;
  });
}

function checkBeginning({ messages, speakers, purpose, profile }: StructureContext, report: ReportFinding): void {
  const first = speakers.findIndex((speaker) => speaker !== "system");
  if (first !== -1) {
    if (!mayBeFirst({ messages, speakers, profile }, first)) {
      report({
        rule: "S02",
        index: first,
        message: "The conversation does not begin with a message of the user.",
      });
    }
    return;
  }
  const isAccepted = speakers.length > 0 && profile.systemOnly === "accepted";
  if (purpose === "model-input" && !isAccepted) {
    const only = speakers.length === 0 ? "no message" : "only system messages";
    report({ rule: "S01", index: Math.max(0, speakers.length - 1), message: `There is nothing to answer: ${only}.` });
  }
}

/** True if the profile lets a conversation begin with the message at `index`. */
export function mayBeFirst(
  { messages, speakers, profile }: Pick<StructureContext, "messages" | "speakers" | "profile">,
  index: number,
): boolean {
  const speaker = speakers[index];
  return (
    speaker === "user" ||
    (profile.firstMessage === "not-a-call" && speaker === "assistant" && callsOf(messages[index]!).length === 0)
  );
}

function checkNeighbours({ speakers }: StructureContext, report: ReportFinding): void {
  let previous: string | undefined;
  speakers.forEach((speaker, index) => {
    if (speaker === "system") {
      return;
    }
    if (speaker === previous && (speaker === "user" || speaker === "assistant")) {
      report({
        rule: "S06",
        index,
        message: `Two messages of the ${speaker === "user" ? "user" : "model"} follow each other.`,
      });
    }
    if (speaker === "user" && previous === "tool") {
      report({
        rule: "S25",
        index,
        message: "The user's message follows a tool result; a message of the model must come between them.",
      });
    }
    previous = speaker;
  });
}

function checkEnd({ messages, speakers, purpose, links, profile }: StructureContext, report: ReportFinding): void {
  const last = speakers.length - 1;
  if (purpose !== "model-input" || speakers[last] !== "assistant" || links.callsAt.has(last)) {
    return;
  }
  const isPrefix = (messages[last]!.additional_kwargs as Record<string, unknown>)?.["prefix"] === true;
  if (!(isPrefix && profile.markedPrefix === "accepted")) {
    report({
      rule: "S05",
      index: last,
      message: "The last message is the model's own; a message of the user or a tool result must come last.",
    });
  }
}
