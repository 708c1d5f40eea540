import type { BaseMessage } from "@langchain/core/messages";
import type { StructureCriteria, StructureRule } from "../rules/rules.js";
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
  /** The messages as they were given. */
  readonly given: readonly BaseMessage[];
}

/** True if the rule is an error in the profile; warnings are not repaired. */
export function mustHold({ criteria }: RepairSession, rule: StructureRule): boolean {
  return criteria.profile.rules[rule] === "error";
}

/** Key in `additional_kwargs` of messages that a repair added. */
export const synthesizedKey = "synthesized";

/** True for a message that a repair added. */
export function isSynthesized(message: BaseMessage): boolean {
  return (message.additional_kwargs as Record<string, unknown>)?.[synthesizedKey] === true;
}
