import type { BaseMessage } from "@langchain/core/messages";
import type { StructureCriteria, StructureRule } from "../rules/rules.js";
import type { RepairChoices } from "../options.js";

/** What was done to a message, in one word. */
export type RepairAction = "added" | "changed" | "merged" | "moved" | "removed";

/**
 * One change that a repair made: for which rule, at which message of the input, and what. `message` never shows message
 * text.
 */
export interface StructureRepair {
  /** The rule that asked for the change. */
  readonly rule: StructureRule;
  /** Index in the input; for an added message, the index of the message that it was added at. */
  readonly index: number;
  /** What was done, in one word. */
  readonly action: RepairAction;
  /** What was done, in a sentence. */
  readonly message: string;
}

/** A message during a repair, with its index in the input. */
export interface Entry {
  readonly message: BaseMessage;
  readonly index: number;
  /** Indexes of the messages that were merged into this one. */
  readonly merged?: readonly number[];
}

/** What all parts of one repair share. */
export interface RepairSession {
  readonly criteria: StructureCriteria;
  readonly choices: RepairChoices;
  readonly repairs: StructureRepair[];
}

/** True if a breach of the rule is an error in the profile; warnings are not repaired. */
export function mustHold({ criteria }: RepairSession, rule: StructureRule): boolean {
  return criteria.profile.rules[rule] === "error";
}

/** Key in `additional_kwargs` that marks a message that a repair added. */
export const synthesizedKey = "synthesized";

/** True for a message that a repair added. */
export function isSynthesized(message: BaseMessage): boolean {
  return (message.additional_kwargs as Record<string, unknown>)?.[synthesizedKey] === true;
}
