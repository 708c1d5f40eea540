import type { BaseMessage } from "@langchain/core/messages";
import type { MessagePlace } from "./context.js";
import type { RepairChoices } from "../repair/repair-options.js";
import type { StructureRule } from "./rules.js";

/** A rule that one message breaks by itself: how it shows, and how it is put right. */
export interface MessageRule {
  readonly rule: StructureRule;
  /** What is wrong, in one sentence; undefined where nothing is. */
  find(message: BaseMessage, place: MessagePlace): string | undefined;
  /** The message put right, or left out. Called only where something is wrong. */
  repair(message: BaseMessage, place: RepairPlace): MessageRepair;
}

/** A message in its conversation, and what is done where there is more than one way. */
export interface RepairPlace extends MessagePlace {
  readonly choices: RepairChoices;
}

/** The message put right and what was done to it; without a message, it is left out. */
export interface MessageRepair {
  readonly message?: BaseMessage;
  /** What was done, in one sentence; never message text. */
  readonly done: string;
}
