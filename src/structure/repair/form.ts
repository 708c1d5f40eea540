import type { BaseMessage } from "@langchain/core/messages";
import { brokenRule, formFor } from "../adapters/form.js";
import { lastQuestionIn } from "../rules/find-issues.js";
import type { Entry, RepairSession } from "./session.js";

/** Gives each message the form that the profile's adapter reads. */
export function giveForm(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, storesReasoning, model } = session.criteria;
  const { adapter } = profile;
  if (adapter === undefined) {
    return entries;
  }
  const last = lastQuestionIn(entries.map(({ message }) => message));
  return entries.map((entry, place) => {
    const facts = { storesReasoning, model, isOfThisTurn: place > last };
    const message: BaseMessage = formFor(adapter, entry.message, facts);
    if (message === entry.message) {
      return entry;
    }
    const rule = brokenRule(entry.message, message);
    const done = "Gave the message the form that the provider's adapter reads.";
    if (!session.repairs.some((repair) => repair.index === entry.index && repair.rule === rule)) {
      session.repairs.push({ rule, index: entry.index, action: "changed", message: done });
    }
    return { ...entry, message };
  });
}
