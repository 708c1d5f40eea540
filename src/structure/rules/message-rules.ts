import {
  noBlankText,
  noDoubledCalls,
  noEmptyAnswer,
  noForeignBlocks,
  noTextBesideCalls,
  noTrailingSpace,
  orderInMessage,
} from "./content-rules.js";
import type { ReportFinding, StructureContext } from "./context.js";
import type { MessageRule } from "./message-rule.js";
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

/** Finds what is wrong in single messages: rules S14 to S24, S26, S27, S29 and S31. */
export function checkMessages(context: StructureContext, report: ReportFinding): void {
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
