import type { FormFacts } from "../adapters/adapter.js";
import { asSummary } from "../adapters/compaction.js";
import { formFor, ruleOfForm } from "../adapters/form.js";
import { placesInRequest, type RequestPlaces } from "../adapters/request-place.js";
import { speakerOf } from "../../messages/roles.js";
import { lastQuestionIn } from "../rules/find-issues.js";
import { needsRequest } from "./order.js";
import type { Entry, RepairSession } from "./session.js";

/** Gives each message the form that the profile's adapter reads. */
export function giveForm(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, storesReasoning, model } = session.criteria;
  if (profile.adapter === undefined) {
    return entries;
  }
  const isOver = needsRequest(entries, session);
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

function inAdapterForm(entry: Entry, facts: FormFacts, { criteria, repairs }: RepairSession): Entry {
  const message = formFor(criteria.profile.adapter!, entry.message, facts);
  if (message === entry.message) {
    return entry;
  }
  const rule = ruleOfForm(message);
  const done = "Gave the message the form that the provider's adapter reads.";
  if (!repairs.some((repair) => repair.index === entry.index && repair.rule === rule)) {
    repairs.push({ rule, index: entry.index, action: "changed", message: done });
  }
  return { ...entry, message };
}

/** The text by which another provider compacted the conversation, as a summary in front of what the answer says. */
function withReadable(entry: Entry, { criteria, repairs }: RepairSession): readonly Entry[] {
  const parts = asSummary(entry.message, criteria.profile.adapter!);
  if (parts === undefined) {
    return [entry];
  }
  const done = "Gave what another provider compacted the form of a summary.";
  repairs.push({ rule: "S27", index: entry.index, action: "changed", message: done });
  return parts.map((message) => ({ ...entry, message }));
}
