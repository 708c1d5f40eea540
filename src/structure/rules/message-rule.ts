import type { BaseMessage } from "@langchain/core/messages";
import type { MessagePlace } from "./context.js";
import type { RepairChoices } from "../repair/repair-options.js";
import type { StructureRule } from "./rules.js";

/** A rule about a single message: how to find a breach and how to repair it. */
export interface MessageRule {
  readonly rule: StructureRule;
  /** What is wrong, in one sentence; undefined if nothing is. */
  find(message: BaseMessage, place: MessagePlace): string | undefined;
  /** The repaired message, or none. Called only after `find` found something. */
  repair(message: BaseMessage, place: RepairPlace): MessageRepair;
}

/** A message in its conversation, and the choices of the repair. */
export interface RepairPlace extends MessagePlace {
  readonly choices: RepairChoices;
}

/** The repaired message and what was done; without a message, it is removed. */
export interface MessageRepair {
  readonly message?: BaseMessage;
  /** What was done, in one sentence; never message text. */
  readonly done: string;
}
