import type { FormFacts } from "../adapters/adapter.js";
import { asSummary } from "../adapters/compaction.js";
import { formFor, ruleOfForm } from "../adapters/form.js";
import { placesInRequest, type RequestPlaces } from "../adapters/request-place.js";
import { speakerOf } from "../../messages/roles.js";
import { lastQuestionIn } from "../rules/find-issues.js";
import { missingRequestOf } from "./order.js";
import { note, type Entry, type RepairSession } from "./session.js";

/** Gives each message the form that the profile's adapter reads. */
export function giveForm(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, storesReasoning, model } = session.criteria;
  if (profile.adapter === undefined) {
    return entries;
  }
  const isOver = missingRequestOf(entries, session) !== undefined;
  const last = isOver ? entries.length : lastQuestionIn(entries.map(({ message }) => message));
  const facts = { storesReasoning, model };
  const isResult = ({ message }: Entry) => speakerOf(message) === "tool";
  const places = placesIn(entries, session);
  const formed = entries.flatMap((entry, place) =>
    withReadable(entry, session).map((each) =>
      isResult(each)
        ? each
        : inAdapterForm(each, { ...facts, isOfThisTurn: place > last, ...places?.get(place) }, session),
    ),
  );
  // The form of results depends on that of the calls.
  const placesNow = placesIn(formed, session);
  return formed.map((entry, place) =>
    isResult(entry) ? inAdapterForm(entry, { ...facts, isOfThisTurn: true, ...placesNow?.get(place) }, session) : entry,
  );
}

function placesIn(entries: readonly Entry[], { criteria }: RepairSession): RequestPlaces | undefined {
  return placesInRequest[criteria.profile.adapter!]?.(entries.map(({ message }) => message));
}

function inAdapterForm(entry: Entry, facts: FormFacts, session: RepairSession): Entry {
  const message = formFor(session.criteria.profile.adapter!, entry.message, facts);
  if (message === entry.message) {
    return entry;
  }
  const rule = ruleOfForm(message);
  const done = "Gave the message the form that the provider's adapter reads.";
  note(session, [entry], { rule, action: "changed", message: done });
  return { ...entry, message };
}

/** The text by which another provider compacted the conversation, as a summary in front of what the answer says. */
function withReadable(entry: Entry, session: RepairSession): readonly Entry[] {
  const parts = asSummary(entry.message, session.criteria.profile.adapter!);
  if (parts === undefined) {
    return [entry];
  }
  const done = "Gave what another provider compacted the form of a summary.";
  note(session, [entry], { rule: "S27", action: "changed", message: done });
  return parts.map((message) => ({ ...entry, message }));
}
