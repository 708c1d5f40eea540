import type { BaseMessage } from "@langchain/core/messages";
import { mapSame } from "../../messages/copies/plain-answer.js";
import { readableByGoogle, type Origin, originOf } from "../adapters/form.js";
import { earlyRules, isValid, lastQuestionIn, lateRules } from "../rules/find-issues.js";
import type { MessageRule, MessagePlace } from "../rules/rules.js";
import { keepNewest } from "../rules/request-rules.js";
import { foldFirstSteps, foldTools, repairCallIds, repairTools } from "./tools.js";
import { giveForm, mergeSpeakers, mergeSystemMessages, moveSystemMessages, repairTurns } from "./order.js";
import type { RepairPlan } from "../options.js";
import { mustHold, note, type Entry, structureOf, type RepairSession, type StructureRepair } from "./session.js";

/** A repaired conversation and the list of changes. */
export interface RepairedConversation {
  /** A new array; unchanged messages are the same objects. */
  readonly messages: BaseMessage[];
  /** One entry per change; empty if there was no error. */
  readonly repairs: StructureRepair[];
}

/** Repairs every error of a conversation. */
export function repairAs({ criteria, choices }: RepairPlan, messages: readonly BaseMessage[]): RepairedConversation {
  if (isValid(messages, criteria)) {
    return { messages: [...messages], repairs: [] };
  }
  const session: RepairSession = { criteria, choices, repairs: [], original: messages };
  const entries = messages.map((message, index) => ({ message, index }));
  const repaired = repairEntries(entries, session);
  return {
    messages: repaired.map(({ message }) => message),
    repairs: eachOnce(session.repairs).sort((a, b) => a.index - b.index),
  };
}

/** Several steps may change a message in the same way. */
function eachOnce(repairs: readonly StructureRepair[]): StructureRepair[] {
  return [...new Map(repairs.map((repair) => [Object.values(repair).join("\n"), repair])).values()];
}

/** {@link repairAs} for a request. Where no model is in sight, that of the newest answer's provider reads the calls. */
export function repairRequest(plan: RepairPlan, messages: readonly BaseMessage[]): RepairedConversation {
  const repaired = repairAs(plan, messages);
  const { profile, model, storesReasoning } = plan.criteria;
  if (profile.adapter !== "neutral" || model !== undefined || newestOrigin(messages) !== "google") {
    return repaired;
  }
  const last = lastQuestionIn(repaired.messages);
  const readable = repaired.messages.map((message, index) =>
    readableByGoogle(message, { storesReasoning, model, isOfThisTurn: index > last }),
  );
  return { ...repaired, messages: readable };
}

function newestOrigin(messages: readonly BaseMessage[]): Origin | undefined {
  const newest = messages.findLast((message) => originOf(message) !== undefined);
  return newest && originOf(newest);
}

/** Ordered so that no step undoes an earlier one. */
function repairEntries(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const early = (list: readonly Entry[]) => repairMessages(list, session, earlyRules);
  const parts: ((entries: readonly Entry[], session: RepairSession) => readonly Entry[])[] = [
    giveForm,
    early,
    moveSystemMessages,
    mergeSystemMessages,
    repairTools,
    repairCallIds,
    foldTools,
    foldFirstSteps,
    // A message that lost its calls or thoughts may be empty now, and a folded result holds blocks of a tool's.
    giveForm,
    early,
    mergeSpeakers,
    repairTurns,
    (list) => repairMessages(list, session, lateRules),
    giveForm,
    leaveNewest,
  ];
  return parts.reduce((list, part) => part(list, session), entries);
}

/** Leaves the newest parts of which a request takes so many: rules S38 and S39. */
function leaveNewest(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const messages = entries.map(({ message }) => message);
  const newest = keepNewest(messages, session.criteria, ({ rule, done }, place) => {
    note(session, [entries[place]!], { rule, action: "changed", message: done });
  });
  return mapSame(entries, (entry, place) => [
    newest[place] === entry.message ? entry : { ...entry, message: newest[place]! },
  ]);
}

/**
 * Passes through the rules for one message: repairing one rule may violate another. The bound ends contradictory
 * profiles.
 */
const maxRounds = 5;

function repairMessages(
  entries: readonly Entry[],
  session: RepairSession,
  rules: readonly MessageRule[],
): readonly Entry[] {
  const context = structureOf(entries, session);
  const held = rules.filter(({ rule }) => mustHold(session, rule));
  return entries.flatMap((entry, index) => {
    const place = { context, index };
    let current: Entry | undefined = entry;
    for (let round = 1, before; current !== undefined && current !== before && round <= maxRounds; round += 1) {
      before = current;
      current = repairOnce(current, held, place, session);
    }
    return current ?? [];
  });
}

/** The entry itself if its message breaks none of the rules; undefined if it is removed. */
function repairOnce(
  entry: Entry,
  held: readonly MessageRule[],
  place: MessagePlace,
  session: RepairSession,
): Entry | undefined {
  let { message } = entry;
  for (const { rule, repair } of held) {
    const change = repair(message, place);
    if (change === undefined) {
      continue;
    }
    const { message: repaired, done } = change;
    const action = repaired === undefined ? "removed" : "changed";
    note(session, [entry], { rule, action, message: done });
    if (repaired === undefined) {
      return undefined;
    }
    message = repaired;
  }
  return message === entry.message ? entry : { ...entry, message };
}
