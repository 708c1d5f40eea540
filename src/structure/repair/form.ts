import type { BaseMessage } from "@langchain/core/messages";
import { brokenRule, formFor } from "../adapters/form.js";
import { agreedCopies } from "../rules/copy-rules.js";
import { lastQuestionIn } from "../rules/find-issues.js";
import type { Entry, RepairSession } from "./session.js";

/** Makes the copies of calls agree where the profile's adapter sends one that differs. */
export function agreeCopies(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return entries.map((entry) => {
    const message = agreedCopies(entry.message, session.criteria.profile);
    if (message === entry.message) {
      return entry;
    }
    const done = "Made the copies of the calls agree with `tool_calls`.";
    session.repairs.push({ rule: "S35", index: entry.index, action: "changed", message: done });
    return { ...entry, message };
  });
}

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
