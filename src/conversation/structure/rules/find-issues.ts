import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, callsOf, compactionIn, answeredId, mayCall, showId, blocksOf } from "../../messages/content.js";
import type { CallLinks, LinkedCall } from "../../messages/content.js";
import { isThought } from "../../messages/copies/thoughts.js";
import { isSynthesized, roleNameOf, speakerOf, fieldsOf } from "../../messages/message.js";
import {
  noBlankText,
  noEmptyAnswer,
  noForeignBlocks,
  wellFormedText,
  knownRoles,
  namedResults,
  readableCalls,
  wellFormedNames,
} from "./message-rules.js";
import { checkRequest } from "./request-rules.js";
import type {
  Finding,
  MessageRule,
  ReportFinding,
  StructureContext,
  StructureCriteria,
  StructureIssue,
} from "./rules.js";
import type { FormFacts } from "../adapters/adapter.js";
import { formFor, ruleOfForm } from "../adapters/form.js";
import { placesInRequest } from "../adapters/own-tools.js";
import { fitsForm } from "../profiles/neutral.js";
import type { StructureProfile } from "../profiles/profile.js";

/** Rules to repair before messages move, in this order: a later one sees what an earlier one left. */
export const earlyRules: readonly MessageRule[] = [
  wellFormedText,
  knownRoles,
  readableCalls,
  noForeignBlocks,
  noBlankText,
  wellFormedNames,
  noEmptyAnswer,
];

/** Rules to repair once every message has its place, added messages included. */
export const lateRules: readonly MessageRule[] = [namedResults];

/** True where the conversation breaks no rule that is an error in the profile; warnings pass. */
export function isValid(messages: readonly BaseMessage[], criteria: StructureCriteria): boolean {
  return findIssues(messages, criteria).every(({ severity }) => severity !== "error");
}

/** The issues of a conversation, in the order of the messages. */
export function findIssues(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureIssue[] {
  const context = readStructure(messages, criteria);
  const { profile } = criteria;
  const issues: StructureIssue[] = [];
  const add = ({ rule, index, message, severity = profile.rules[rule] }: Finding): void => {
    if (severity !== undefined) {
      const messageId = messages[index]?.id;
      issues.push({ rule, severity, index, ...(messageId === undefined ? {} : { messageId }), message });
    }
  };
  const report = (finding: Finding): void => {
    if (profile.rules[finding.rule] !== undefined) {
      add(finding);
    }
  };
  checkOrder(context, report);
  checkTools(context, report);
  checkRequest(context, report);
  ownProblems(context).forEach((problems, index) => problems.forEach((problem) => add({ ...problem, index })));
  return issues.sort((a, b) => a.index - b.index);
}

/** A violation at a message, wherever it stands. */
type Problem = Omit<Finding, "index">;

/** The problems of each message by itself: a form that its adapter does not read, and the rules for one message. */
function ownProblems(context: StructureContext): readonly (readonly Problem[])[] {
  const { messages, lastUser, profile } = context;
  const listed = [...earlyRules, ...lateRules].filter(({ rule }) => profile.rules[rule] !== undefined);
  const places = profile.adapter && placesInRequest[profile.adapter]?.(messages);
  return messages.map((message, index) => {
    if (isPlain(message, profile)) {
      return [];
    }
    const forms = formProblems(context, message, { isOfThisTurn: index > lastUser, ...places?.get(index) });
    const rules = listed.flatMap(({ rule, problem, repair }): Problem[] => {
      return repair(message, { context, index }) === undefined ? [] : [{ rule, message: problem }];
    });
    return [...forms, ...rules];
  });
}

/** True for a text and nothing else, which no rule for single messages and no adapter's form can object to. */
function isPlain(message: BaseMessage, { blocks, names }: StructureProfile): boolean {
  const type: string = message.getType();
  const { content, name, id, additional_kwargs: kwargs } = message;
  const metadata = fieldsOf(message.response_metadata);
  return (
    typeof content === "string" &&
    content !== "" &&
    content.trimEnd() === content &&
    content.isWellFormed() &&
    (typeof name !== "string" || name.isWellFormed()) &&
    (type === "human" || type === "system" || (type === "ai" && !mayCall(message))) &&
    (type === "ai" || blocks?.[type === "human" ? "user" : "system"]?.includes("text") !== false) &&
    (names === undefined || (name ?? undefined) === undefined) &&
    !id?.startsWith("msg_") &&
    Object.keys(kwargs ?? {}).length === 0 &&
    metadata["output"] === undefined &&
    metadata["output_version"] === undefined
  );
}

/** Checks that the message has the form that the profile's adapter reads. */
function formProblems(
  { profile: { adapter }, storesReasoning, model }: StructureContext,
  message: BaseMessage,
  place: Omit<FormFacts, "storesReasoning" | "model">,
): readonly Problem[] {
  const formed = adapter && formFor(adapter, message, { storesReasoning, model, ...place });
  const problem = "The message is not in the form that the adapter reads.";
  return formed === undefined || formed === message
    ? []
    : [{ rule: ruleOfForm(message), severity: "error", message: problem }];
}

/** Index of the last message of the user, where the turn begins that goes on; -1 if there is none. */
export function lastQuestionIn(messages: readonly BaseMessage[]): number {
  return messages.findLastIndex((message) => speakerOf(message) === "user");
}

/** The conversation as the rules read it. Linear. */
export function readStructure(messages: readonly BaseMessage[], criteria: StructureCriteria): StructureContext {
  const speakers = messages.map(speakerOf);
  let links: CallLinks | undefined;
  return {
    messages,
    speakers,
    lastUser: speakers.lastIndexOf("user"),
    // Computed on demand: few profiles need it, and it is the largest part of the work.
    get links() {
      links ??= linkCalls(messages);
      return links;
    },
    ...criteria,
  };
}

/** Checks the order of speakers: rules S01 to S06 and S25; and where a turn begins: rule S33. */
export function checkOrder(context: StructureContext, report: ReportFinding): void {
  checkSystemMessages(context, report);
  checkBeginning(context, report);
  checkNeighbours(context, report);
  checkEnd(context, report);
  const index = thoughtlessStart(context);
  if (index !== -1) {
    report({ rule: "S33", index, message: "The turn that goes on does not begin with the model's thought." });
  }
}

function checkSystemMessages({ speakers }: StructureContext, report: ReportFinding): void {
  const front = speakers.findIndex((speaker) => speaker !== "system");
  let seen = false;
  speakers.forEach((speaker, index) => {
    if (speaker !== "system") {
      return;
    }
    if (front !== -1 && index > front) {
      report({ rule: "S03", index, message: "A system message comes after other messages; it belongs at the front." });
    }
    if (seen) {
      report({ rule: "S04", index, message: "This is not the first system message; only one is accepted." });
    }
    seen = true;
  });
}

function checkBeginning({ messages, speakers, purpose, profile }: StructureContext, report: ReportFinding): void {
  const first = speakers.findIndex((speaker) => speaker !== "system");
  if (first !== -1) {
    if (!mayBeFirst(messages[first]!, profile)) {
      report({ rule: "S02", index: first, message: "The conversation does not begin with a message of the user." });
    }
    return;
  }
  const isAccepted = speakers.length > 0 && profile.systemOnly === "accepted";
  if (purpose === "model-input" && !isAccepted) {
    const only = speakers.length === 0 ? "no message" : "only system messages";
    report({ rule: "S01", index: Math.max(0, speakers.length - 1), message: `There is nothing to answer: ${only}.` });
  }
}

/** True if the profile lets a conversation begin with the message. */
export function mayBeFirst(message: BaseMessage, { adapter, firstMessage }: StructureProfile): boolean {
  const speaker = speakerOf(message);
  return (
    speaker === "user" ||
    (adapter === "anthropic" && compactionIn(message) !== undefined) ||
    (firstMessage === "not-a-call" && speaker === "assistant" && callsOf(message).length === 0)
  );
}

function checkNeighbours({ speakers }: StructureContext, report: ReportFinding): void {
  let previous: string | undefined;
  speakers.forEach((speaker, index) => {
    if (speaker === "system") {
      return;
    }
    if (speaker === previous && (speaker === "user" || speaker === "assistant")) {
      report({
        rule: "S06",
        index,
        message: `Two messages of the ${speaker === "user" ? "user" : "model"} follow each other.`,
      });
    }
    if (speaker === "user" && previous === "tool") {
      report({
        rule: "S25",
        index,
        message: "The user's message follows a tool result; a message of the model must come between them.",
      });
    }
    previous = speaker;
  });
}

function checkEnd({ messages, purpose }: StructureContext, report: ReportFinding): void {
  const index = messages.length - 1;
  if (purpose === "model-input" && index >= 0 && !mayBeLast(messages[index]!)) {
    const message = "The last message is no message of the user and no tool result, which must come last.";
    report({ rule: "S05", index, message });
  }
}

/**
 * True for a message with which a request may end, or whose calls have to be answered first. A system message is a
 * matter of rules S01 and S03.
 */
export function mayBeLast(message: BaseMessage): boolean {
  const speaker = speakerOf(message);
  return speaker === "other"
    ? roleNameOf(message) === "function"
    : speaker !== "assistant" || callsOf(message).length > 0;
}

/** Checks calls and results: rules S07 to S13, S28 and S30. */
export function checkTools(context: StructureContext, report: ReportFinding): void {
  checkResults(context, report);
  for (const [index, calls] of context.links.callsAt) {
    if (context.hasTools === false) {
      report({ rule: "S28", index, message: "The message calls tools, but no tools are declared." });
    }
    checkOpenCalls(context, { index, calls }, report);
  }
  wrongIds(context).forEach(report);
}

/** The result that stays with a call: the first one, those that a repair added last. */
export function resultOf({ results }: LinkedCall, messages: readonly BaseMessage[]): number | undefined {
  return results.find((index) => !isSynthesized(messages[index]!)) ?? results[0];
}

function checkResults({ messages, speakers, links, profile }: StructureContext, report: ReportFinding): void {
  const results = new Set<number | undefined>();
  links.callsAt.forEach((calls) => calls.forEach((call) => results.add(resultOf(call, messages))));
  let newest: LinkedCall | undefined;
  speakers.forEach((speaker, index) => {
    if (speaker !== "tool") {
      return;
    }
    const call = links.callOf[index];
    const id = () => showId(answeredId(messages[index]!));
    if (call === undefined) {
      report({ rule: "S07", index, message: `The tool result ${id()} does not answer any earlier call.` });
    } else if (!results.has(index)) {
      report({ rule: "S12", index, message: `The call ${id()} already has a result.` });
    } else if (links.blockOf[index] !== call.index) {
      const message = `The tool result ${id()} does not come directly after the message that called for it.`;
      report({ rule: "S09", index, message });
    } else if (newest?.index !== call.index || newest.place < call.place) {
      newest = call;
    } else if (profile.resultOrder === "calls") {
      report({ rule: "S09", index, message: `The tool result ${id()} comes after the result of a later call.` });
    }
  });
}

function checkOpenCalls(
  { links, purpose }: StructureContext,
  { index, calls }: { readonly index: number; readonly calls: readonly LinkedCall[] },
  report: ReportFinding,
): void {
  const open = calls.filter(({ results }) => results.length === 0);
  const atEnd = links.frontier === index;
  if (atEnd && purpose === "history") {
    return;
  }
  for (const { id } of open) {
    const call = `The call ${showId(id)}`;
    if (atEnd) {
      const message = `${call} at the end has no result; answer it before a model is called.`;
      report({ rule: "S30", index, message });
    } else if (open.length < calls.length) {
      report({ rule: "S10", index, message: `${call} has no result, while others of the same message have one.` });
    } else {
      report({ rule: "S08", index, message: `${call} has no result.` });
    }
  }
}

/** A call whose id breaks rule S11 or S13. */
export interface WrongId extends Finding {
  readonly rule: "S11" | "S13";
  readonly call: LinkedCall;
  /** How many calls up to this one have the id: of the message, or of all where an id may not be used again. */
  readonly nth: number;
}

/** The calls whose ids lack the provider's form (S13), or are those of earlier calls (S11). */
export function wrongIds({ links, profile }: StructureContext): readonly WrongId[] {
  const ids: WrongId[] = [];
  const seen = new Map<string, number>();
  const reuse = profile.rules.S11 && (profile.callIds?.reuse ?? profile.rules.S11);
  for (const [index, calls] of links.callsAt) {
    const own = new Map<string, number>();
    for (const call of calls) {
      const { id = "" } = call;
      const uses = counted(seen, id);
      const ownUses = calls.length === 1 ? 1 : counted(own, id);
      const nth = reuse === "error" ? uses : ownUses;
      if (!fitsForm(id, profile.callIds)) {
        const message = `The provider does not accept the call id ${showId(id)}.`;
        ids.push({ index, call, nth, rule: "S13", message });
      }
      if (ownUses > 1) {
        const message = `Two calls of this message share the id ${showId(id)}.`;
        ids.push({ index, call, nth, rule: "S11", message });
      } else if (uses > 1 && reuse !== undefined && reuse !== "accepted") {
        const message = `An earlier message already used the call id ${showId(id)}.`;
        ids.push({ index, call, nth, rule: "S11", severity: reuse, message });
      }
    }
  }
  return ids;
}

function counted(uses: Map<string, number>, id: string): number {
  const nth = (uses.get(id) ?? 0) + 1;
  uses.set(id, nth);
  return nth;
}

/** True for an answer that begins with a thought. */
export function beginsWithThought(message: BaseMessage): boolean {
  return isThought(blocksOf(message)[0]);
}

/** Index of the answer with which a turn with calls begins, if it does not begin with a thought; else -1. */
function thoughtlessStart({ messages, speakers, purpose, lastUser, profile }: StructureContext): number {
  if (purpose !== "model-input" || profile.rules.S33 === undefined) {
    return -1;
  }
  const first = speakers.indexOf("assistant", lastUser + 1);
  const goesOn = first !== -1 && messages.slice(first).some((message) => callsOf(message).length > 0);
  return goesOn && !beginsWithThought(messages[first]!) ? first : -1;
}
