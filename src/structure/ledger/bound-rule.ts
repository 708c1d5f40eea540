import type { BaseMessage } from "@langchain/core/messages";
import type { RepairPlan } from "../options.js";
import { type RepairedConversation, repairAs } from "../repair/repair.js";
import type { StructureRepair } from "../repair/session.js";
import { findIssues } from "../rules/find-issues.js";
import type { StructureCriteria, StructureIssue } from "../rules/rules.js";
import { type LedgerWalk, walkLedger } from "./walk-ledger.js";

/** {@link findIssues} with rule S32, which needs the parts of the request in front of its messages. */
export function findAllIssues(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureIssue[] {
  const issues = findIssues(messages, criteria);
  const severity = criteria.profile.rules.S32;
  const walk = severity === undefined ? undefined : walkFor(messages, criteria);
  if (severity === undefined || walk === undefined) {
    return issues;
  }
  const message = "A thought does not stand behind what it was made to.";
  const unbound = changedIndexes(messages, walk).map((index): StructureIssue => {
    const messageId = messages[index]!.id;
    return { rule: "S32", severity, index, ...(messageId !== undefined && { messageId }), message };
  });
  return [...issues, ...unbound].sort((a, b) => a.index - b.index);
}

/** {@link repairAs} with rule S32: last, because each other repair changes what stands before a thought. */
export function repairAll(plan: RepairPlan, messages: readonly BaseMessage[]): RepairedConversation {
  const repaired = repairAs(plan, messages);
  const isHeld = plan.criteria.profile.rules.S32 === "error";
  const walk = isHeld ? walkFor(repaired.messages, plan.criteria) : undefined;
  if (walk === undefined || walk.dropped === 0) {
    return repaired;
  }
  const repairs = [...repaired.repairs, ...boundRepairs(messages, repaired.messages, walk)];
  return { messages: walk.messages, repairs: repairs.sort((a, b) => a.index - b.index) };
}

/** The repairs that a walk made, at the messages as they were given. */
export function boundRepairs(
  given: readonly BaseMessage[],
  repaired: readonly BaseMessage[],
  walk: LedgerWalk,
): StructureRepair[] {
  const places = new Map(given.map((message, index) => [message.id ?? message, index]));
  return changedIndexes(repaired, walk).map((at) => {
    const index = places.get(repaired[at]!.id ?? repaired[at]!) ?? Math.min(at, given.length - 1);
    const message = "Left out thoughts that were made behind something else.";
    return { rule: "S32", index, action: "changed", message };
  });
}

function walkFor(messages: readonly BaseMessage[], { purpose, prefix }: StructureCriteria): LedgerWalk | undefined {
  return purpose === "model-input" && prefix !== undefined ? walkLedger(messages, prefix) : undefined;
}

function changedIndexes(given: readonly BaseMessage[], walk: LedgerWalk): number[] {
  return given.flatMap((message, index) => (message === walk.messages[index] ? [] : [index]));
}
