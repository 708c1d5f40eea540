import type { ReportFinding, StructureContext } from "./context.js";

/** Finds what is wrong with the order of speakers: rules S01 to S06 and S25. */
export function checkOrder(context: StructureContext, report: ReportFinding): void {
  checkSystemMessages(context, report);
  checkBeginning(context, report);
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
      report({ rule: "S03", index, message: "A system message stands behind other messages; it belongs at the front." });
    }
    if (seen) {
      report({ rule: "S04", index, message: "There is a system message before this one; only one is accepted." });
    }
    seen = true;
  });
}

function checkBeginning({ speakers, purpose }: StructureContext, report: ReportFinding): void {
  const first = speakers.findIndex((speaker) => speaker !== "system");
  if (first === -1) {
    if (purpose === "model-input") {
      const only = speakers.length === 0 ? "no message" : "only system messages";
      report({ rule: "S01", index: Math.max(0, speakers.length - 1), message: `There is nothing to answer: ${only}.` });
    }
    return;
  }
  if (speakers[first] !== "user") {
    report({ rule: "S02", index: first, message: "The conversation begins with something other than the user's message." });
  }
}

function checkEnd({ speakers, purpose, links }: StructureContext, report: ReportFinding): void {
  const last = speakers.length - 1;
  if (purpose === "model-input" && speakers[last] === "assistant" && !links.callsAt.has(last)) {
    report({ rule: "S05", index: last, message: "The last message is the model's own; the user's message or a tool result must come last." });
  }
}
