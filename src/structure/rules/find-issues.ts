import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, type CallLinks } from "../../messages/calls.js";
import { speakerOf } from "../../messages/roles.js";
import { checkOrder, checkTools } from "./conversation-rules.js";
import {
  noBlankText,
  noDoubledCalls,
  noEmptyAnswer,
  noForeignBlocks,
  noTextBesideCalls,
  noTrailingSpace,
  orderInMessage,
} from "./content-rules.js";
import type {
  Finding,
  MessageRule,
  ReportFinding,
  StructureContext,
  StructureCriteria,
  StructureIssue,
} from "./rules.js";
import { knownRoles, namedResults, readableCalls, wellFormedNames } from "./name-rules.js";
import { followedReasoning, returnedReasoning, signedCalls, signedThinking } from "./provider-rules.js";

/** Rules to repair before messages move, in this order: a later one sees what an earlier one left. */
export const earlyRules: readonly MessageRule[] = [
  knownRoles,
  readableCalls,
  noDoubledCalls,
  noForeignBlocks,
  noBlankText,
  signedThinking,
  followedReasoning,
  orderInMessage,
  wellFormedNames,
  noEmptyAnswer,
];

/** Rules to repair once every message has its place, added messages included. */
export const lateRules: readonly MessageRule[] = [
  noTextBesideCalls,
  noTrailingSpace,
  namedResults,
  signedCalls,
  returnedReasoning,
];

/** The issues of a conversation, in the order of the messages. */
export function findIssues(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureIssue[] {
  const context = readStructure(messages, criteria);
  const { profile } = criteria;
  const issues: StructureIssue[] = [];
  const report = ({ rule, index, message, severity = profile.rules[rule] }: Finding): void => {
    if (profile.rules[rule] !== undefined && severity !== undefined) {
      const messageId = messages[index]?.id;
      issues.push({ rule, severity, index, ...(messageId === undefined ? {} : { messageId }), message });
    }
  };
  checkOrder(context, report);
  checkTools(context, report);
  checkMessages(context, report);
  return issues.sort((a, b) => a.index - b.index);
}

/** Checks single messages: rules S14 to S24, S26, S27, S29 and S31. */
function checkMessages(context: StructureContext, report: ReportFinding): void {
  const rules = [...earlyRules, ...lateRules].filter(({ rule }) => context.profile.rules[rule] !== undefined);
  context.messages.forEach((message, index) => {
    for (const { rule, find } of rules) {
      const problem = find(message, { context, index });
      if (problem !== undefined) {
        report({ rule, index, message: problem });
      }
    }
  });
}

/** The conversation as the rules read it. Linear. */
export function readStructure(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureContext {
  const speakers = messages.map(speakerOf);
  let links: CallLinks | undefined;
  return {
    ...criteria,
    messages,
    speakers,
    lastUser: speakers.lastIndexOf("user"),
    // Computed on demand: few profiles need it, and it is the largest part of the work.
    get links() {
      links ??= linkCalls(messages);
      return links;
    },
  };
}
