import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, type CallLinks } from "../../messages/calls.js";
import { type Speaker, speakerOf } from "../../messages/roles.js";
import type { StructureProfile } from "../profiles/profile.js";
import type { StructurePurpose, StructureRule, StructureSeverity } from "./rules.js";

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

/** Reads a conversation for the rules. Linear. */
export function readStructure(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureContext {
  const speakers = messages.map(speakerOf);
  let links: CallLinks | undefined;
  return {
    ...criteria,
    messages,
    speakers,
    lastUser: speakers.lastIndexOf("user"),
    // Not all rules ask for it, and it is the largest part of the work.
    get links() {
      links ??= linkCalls(messages);
      return links;
    },
  };
}
