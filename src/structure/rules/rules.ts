import type { BaseMessage } from "@langchain/core/messages";
import type { RepairChoices } from "../options.js";
import type { CallLinks } from "../../messages/calls.js";
import type { Speaker } from "../../messages/roles.js";
import type { StructureProfile } from "../profiles/profile.js";

/**
 * What each structure rule asks of a conversation. A profile decides which rules hold, and how strictly.
 *
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { structureRules, validateConversation } from "langchain-redis-memory/structure";
 *
 * const issues = validateConversation([new HumanMessage("")], { profile: "anthropic" });
 * const reasons = issues.map(({ rule }) => structureRules[rule]);
 */
export const structureRules = {
  S01: "There is something to answer: at least one message that is not a system message.",
  S02: "The first message that is not a system message is the user's.",
  S03: "System messages come first.",
  S04: "There is one system message at most.",
  S05: "The last message is the user's or a tool result, so that the model's turn comes next.",
  S06: "Messages of the user and of the model alternate.",
  S07: "A tool result follows the call that it answers.",
  S08: "Every tool call has a result before the conversation goes on.",
  S09:
    "Tool results come directly after the message that called for them, in the order of the calls " +
    "if the provider matches them by order.",
  S10: "Of the calls that one message makes, either all have results or none.",
  S11: "No two calls share an id.",
  S12: "A call has one result.",
  S13: "Call ids have the form that the provider accepts.",
  S14: "In one message, tool calls come after all text, and tool results before it.",
  S15: "No text is empty or blank.",
  S16: "A message of the model says something or calls a tool, and holds no empty list of calls.",
  S17: "A last message of the model does not end in white space.",
  S18: "A message that calls tools has no text beside them.",
  S19: "The arguments of a call are an object.",
  S20: "A tool result names its tool.",
  S21: "Thinking blocks carry the signature of the provider that they go to, and do not end a message.",
  S22: "A reasoning item is stored with the provider, and is followed by what it led to.",
  S23: "The first call of each step in the current turn carries its thought signature.",
  S24: "Reasoning text goes back with the model's messages if the model asks for it, and otherwise does not.",
  S25: "The model speaks between a tool result and the user's next message.",
  S26: "Names of speakers and tools have the form that the provider accepts.",
  S27: "Every content block is of a kind that the role may hold.",
  S28: "A conversation with tool calls is sent with tools declared.",
  S29: "A tool call is given once, not in the content and as a call too.",
  S30: "A call at the very end is left open only if the runtime will answer it.",
  S31: "Every role is known to the provider.",
} as const;

/** The id of a structure rule: the key of its sentence in {@link structureRules}. */
export type StructureRule = keyof typeof structureRules;

/** An `error` is refused by the provider, or may be; a `warning` is unusual and accepted. */
export type StructureSeverity = "error" | "warning";

/** One place where a conversation breaks a rule. `message` says what is wrong and never shows message text. */
export interface StructureIssue {
  /** The rule that is broken. */
  readonly rule: StructureRule;
  /** How strictly the profile takes the rule. */
  readonly severity: StructureSeverity;
  /** Index of the message in the list; 0 for an empty list. */
  readonly index: number;
  /** Id of that message, if it has one. */
  readonly messageId?: string;
  /** What is wrong, in a sentence. */
  readonly message: string;
}

/**
 * What the messages are for: to be kept (may end on the model's word or on an open call), or to be answered by a model
 * now.
 */
export type StructurePurpose = "history" | "model-input";

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

/** A conversation, read once for all rules, and what it is checked against. */
export interface StructureContext {
  readonly messages: readonly BaseMessage[];
  readonly speakers: readonly Speaker[];
  readonly links: CallLinks;
  readonly profile: StructureProfile;
  readonly purpose: StructurePurpose;
  readonly hasTools: boolean | undefined;
  readonly storesReasoning: boolean;
  /** Index of the last message of the user; -1 if there is none. What follows it is the current turn. */
  readonly lastUser: number;
}

/** What a conversation is checked against. */
export type StructureCriteria = Pick<StructureContext, "profile" | "purpose" | "hasTools" | "storesReasoning">;

/** A rule that the message at `index` breaks, in one sentence. */
export interface Finding {
  readonly rule: StructureRule;
  readonly index: number;
  readonly message: string;
  /** @default what the profile says of the rule */
  readonly severity?: StructureSeverity;
}

/** A message in its conversation. */
export interface MessagePlace {
  readonly context: StructureContext;
  readonly index: number;
}

/** Takes a finding; those of rules that the profile does not hold are dropped. */
export type ReportFinding = (finding: Finding) => void;
