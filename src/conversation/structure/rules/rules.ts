import type { BaseMessage } from "@langchain/core/messages";
import type { CallLinks } from "../../messages/content.js";
import type { Speaker } from "../../messages/message.js";
import type { StructureProfile } from "../profiles/profile.js";
import type { FrontMarks } from "./request-rules.js";

/**
 * The structure rules by id, one sentence each. A profile decides which rules are checked, and their severity.
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
  S10: "All calls of a message have results, or none of them has.",
  S11: "No two calls share an id.",
  S12: "A call has one result.",
  S13: "Call ids have the form that the provider accepts.",
  S15: "No text is empty or blank.",
  S16: "A message of the model says something or calls a tool.",
  S19: "The arguments of a call are an object.",
  S20: "A tool result names the tool that was called.",
  S25: "The model speaks between a tool result and the user's next message.",
  S26: "Names of speakers and tools have the form that the provider accepts.",
  S27: "Every content block is of a kind that the role may hold.",
  S28: "A conversation with tool calls is sent with tools declared.",
  S30: "A call at the very end is left open only if the runtime will answer it.",
  S31: "Every role is known to the provider.",
  S32: "A thought of a model that binds thoughts goes out only behind the very request that it was made to.",
  S33: "A turn with calls that goes on begins with the model's thought, for models that ask for it.",
  S36: "An answer goes out as its own provider gave it and takes it back, or plain: as text, calls and media.",
  S37: "Every block of text has one, without half of a surrogate pair.",
  S38: "A request has four marks of a prompt cache at most, and none for an hour behind one for five minutes.",
  S39: "A request has no more pictures and files than the provider takes.",
} as const;

/** The ids of {@link structureRules} by themselves: a check of a profile needs no sentences. */
export const ruleIds: readonly string[] =
  "01 02 03 04 05 06 07 08 09 10 11 12 13 15 16 19 20 25 26 27 28 30 31 32 33 36 37 38 39"
    .split(" ")
    .map((number) => `S${number}`);

/** The id of a structure rule: the key of its sentence in {@link structureRules}. */
export type StructureRule = keyof typeof structureRules;

/** An `error` is, or may be, refused by the provider; a `warning` is unusual and accepted. */
export type StructureSeverity = "error" | "warning";

/** One violation of a rule. Holds no message text. */
export interface StructureIssue {
  /** The violated rule. */
  readonly rule: StructureRule;
  /** Severity of the rule in the profile. */
  readonly severity: StructureSeverity;
  /** Index of the message in the list; 0 for an empty list. */
  readonly index: number;
  /** Id of that message, if it has one. */
  readonly messageId?: string;
  /** Description of the violation, one sentence without message text. */
  readonly message: string;
}

/**
 * Purpose of the messages: `history`, to be stored (may end with an AI message or an open call), or `model-input`, to
 * be answered by a model now.
 */
export type StructurePurpose = "history" | "model-input";

/** A rule about a single message: one that its repair would change breaks it. */
export interface MessageRule {
  readonly rule: StructureRule;
  /** Description of the violation, one sentence. */
  readonly problem: string;
  /** The repaired message, or none to remove it; undefined for a valid message. */
  repair(message: BaseMessage, place: MessagePlace): MessageRepair | undefined;
}

/** The repaired message and a description; without a message, it is removed. */
interface MessageRepair {
  readonly message?: BaseMessage;
  /** Description of the change, one sentence without message text. */
  readonly done: string;
}

/** A conversation, read once for all rules, and the criteria. */
export interface StructureContext {
  readonly messages: readonly BaseMessage[];
  readonly speakers: readonly Speaker[];
  readonly links: CallLinks;
  readonly profile: StructureProfile;
  readonly purpose: StructurePurpose;
  readonly hasTools: boolean | undefined;
  readonly storesReasoning: boolean;
  readonly model: string | undefined;
  /** The marks of a prompt cache in front of the messages, in tools and settings; undefined if they are not known. */
  readonly marks: FrontMarks | undefined;
  readonly lastUser: number;
}

/** Profile, purpose and request facts of a check. */
export type StructureCriteria = Pick<
  StructureContext,
  "profile" | "purpose" | "hasTools" | "storesReasoning" | "model" | "marks"
>;

/** A violation at the message at `index`. */
export interface Finding {
  readonly rule: StructureRule;
  readonly index: number;
  readonly message: string;
  /** @default the severity of the rule in the profile */
  readonly severity?: StructureSeverity;
}

/** A message in its conversation. */
export interface MessagePlace {
  readonly context: StructureContext;
  readonly index: number;
}

/** Receives a finding; findings of rules that the profile does not list are dropped. */
export type ReportFinding = (finding: Finding) => void;
