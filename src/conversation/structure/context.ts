import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, type CallLinks } from "./call-links.js";
import { speakerOf, type Speaker } from "./message-parts.js";
import type { StructureProfile } from "./profile.js";
import type { StructurePurpose, StructureRule, StructureSeverity } from "./rules.js";

/** A conversation, read once for all rules, and what it is judged by. */
export interface StructureContext {
  readonly messages: readonly BaseMessage[];
  readonly speakers: readonly Speaker[];
  readonly links: CallLinks;
  readonly profile: StructureProfile;
  readonly purpose: StructurePurpose;
}

/** A rule that the message at `index` breaks, in one sentence. */
export interface Finding {
  readonly rule: StructureRule;
  readonly index: number;
  readonly message: string;
  /** @default what the profile says of the rule */
  readonly severity?: StructureSeverity;
}

/** Takes a finding; those of rules that the profile does not hold are dropped. */
export type ReportFinding = (finding: Finding) => void;

/** Reads a conversation for the rules. Linear. */
export function readStructure(
  messages: readonly BaseMessage[],
  { profile, purpose }: Pick<StructureContext, "profile" | "purpose">,
): StructureContext {
  return { messages, speakers: messages.map(speakerOf), links: linkCalls(messages), profile, purpose };
}
