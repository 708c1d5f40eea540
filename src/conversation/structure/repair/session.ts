import type { BaseMessage } from "@langchain/core/messages";
import { readStructure } from "../rules/find-issues.js";
import type { ReportFinding, StructureContext, StructureCriteria, StructureRule } from "../rules/rules.js";
import type { RepairChoices } from "../options.js";

/** Kind of change that a repair made to a message. */
export type RepairAction = "added" | "changed" | "merged" | "moved" | "removed";

/** One change that a repair made. Holds no message text. */
export interface StructureRepair {
  /** The violated rule. */
  readonly rule: StructureRule;
  /** Index of the message in the input; for an added message, the index at which it was inserted. */
  readonly index: number;
  /** Kind of change. */
  readonly action: RepairAction;
  /** Description of the change, one sentence without message text. */
  readonly message: string;
}

/** A message during a repair, with its index in the input. */
export interface Entry {
  readonly message: BaseMessage;
  readonly index: number;
  /** Indexes of the messages that were merged into this one. */
  readonly merged?: readonly number[];
}

/** State shared by all steps of one repair. */
export interface RepairSession {
  readonly criteria: StructureCriteria;
  readonly choices: RepairChoices;
  readonly repairs: StructureRepair[];
  readonly original: readonly BaseMessage[];
}

/** True if the rule is an error in the profile; warnings are not repaired. */
export function mustHold({ criteria }: RepairSession, rule: StructureRule): boolean {
  return criteria.profile.rules[rule] === "error";
}

/** Read once for the steps that leave the entries as they are. */
const structures = new WeakMap<readonly Entry[], StructureContext>();

/** The entries as the rules read them. */
export function structureOf(entries: readonly Entry[], { criteria }: RepairSession): StructureContext {
  const messages = () => entries.map(({ message }) => message);
  const context = structures.get(entries) ?? readStructure(messages(), criteria);
  structures.set(entries, context);
  return context;
}

/** A check of several rules, such as `checkOrder`. */
type Check = (context: StructureContext, report: ReportFinding) => void;

/** The places that break rules which must hold, by rule: what a rule asks is told by its check alone. Linear. */
export function errorsIn(context: StructureContext, check: Check): (rule: StructureRule) => ReadonlySet<number> {
  const indexes = new Map<StructureRule, Set<number>>();
  check(context, ({ rule, index, severity = context.profile.rules[rule] }) => {
    if (severity === "error") {
      indexes.set(rule, (indexes.get(rule) ?? new Set()).add(index));
    }
  });
  return (rule) => indexes.get(rule) ?? new Set();
}

/** Notes a change of each entry; of one that is removed, also for the messages that were merged into it. */
export function note(
  { repairs }: RepairSession,
  entries: readonly Entry[],
  change: Omit<StructureRepair, "index">,
): void {
  const indexes = change.action === "removed" ? entries.flatMap(indexesOf) : entries.map(({ index }) => index);
  indexes.forEach((index) => repairs.push({ ...change, index }));
}

/** Indexes of the messages that an entry holds. */
export function indexesOf({ index, merged = [] }: Entry): readonly number[] {
  return [...merged, index];
}
