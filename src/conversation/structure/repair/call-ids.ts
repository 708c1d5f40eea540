import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { ConfigurationError } from "../../../base/errors.js";
import { answeredId, callIdsOf, type LinkedCall, showId } from "../../messages/calls.js";
import { changeMessage } from "../../messages/change-message.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { alphanumerics, fitsForm } from "../profiles/identifiers.js";
import type { CallIdForm } from "../profiles/profile.js";
import { wrongIds } from "../rules/find-issues.js";
import type { StructureContext } from "../rules/rules.js";
import { mustHold, note, structureOf, type Entry, type RepairSession } from "./session.js";

/** Gives calls valid (S13) and unique (S11) ids, and changes their results accordingly. Linear. */
export function repairCallIds(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const context = structureOf(entries, session);
  const newIds = idsFor(context, mustHold(session, "S13") ? (context.profile.callIds ?? {}) : {});
  if (newIds.size === 0) {
    return entries;
  }
  const { callsAt, callOf } = context.links;
  return entries.map((entry, place) => {
    const answered = newIds.get(callOf[place]!);
    if (answered !== undefined) {
      return { ...entry, message: changeMessage(entry.message, { tool_call_id: answered.id }) };
    }
    const ids = callsAt.get(place)?.map((call) => newIds.get(call)) ?? [];
    if (ids.every((made) => made === undefined)) {
      return entry;
    }
    ids.forEach((made) => made && note(session, [entry], { rule: made.rule, action: "changed", message: made.done }));
    const calls = (_: unknown, at: number) => ids[at] && { id: ids[at].id };
    return { ...entry, message: editMessage(entry.message, { calls }) };
  });
}

interface NewId {
  readonly id: string;
  readonly rule: "S11" | "S13";
  readonly done: string;
}

/** The new id of each call that needs one: in every request the same for an id that only lacks the form. */
function idsFor(context: StructureContext, form: CallIdForm): ReadonlyMap<LinkedCall | undefined, NewId> {
  const errors = wrongIds(context).filter(({ rule, severity = context.profile.rules[rule] }) => severity === "error");
  const makeId = idMaker(form, errors.length === 0 ? [] : context.messages.flatMap(idsIn));
  // The repetition counts for an id with both faults.
  const faults = new Map(errors.map((error) => [error.call, error]));
  return new Map(
    [...faults].map(([call, { rule, nth }]) => {
      const { id = "" } = call;
      const made = rule === "S11" ? makeId(`${id}\u0000${nth}`, id && `${id}_${nth}`) : makeId(id);
      return [call, { id: made, rule, done: `Gave the call ${showId(id)} the id ${showId(made)}.` }] as const;
    }),
  );
}

function idsIn(message: BaseMessage): readonly string[] {
  const answered = answeredId(message);
  return answered === undefined ? callIdsOf(message) : [answered];
}

/** The length of a new id if the form does not set one. */
const usualLength = 24;

/** Collisions before the form's id space counts as exhausted. */
const maxAttempts = 1000;

/**
 * A function that makes an id of the form for each source, a readable one where that is free, else a hash: the same for
 * the same source, and none of the conversation's `ids`.
 */
function idMaker(form: CallIdForm, ids: readonly string[]): (source: string, readable?: string) => string {
  const taken = new Set(ids);
  const made = new Map<string, string>();
  const freeId = (source: string, readable: string): string => {
    if (readable !== "" && !taken.has(readable) && fitsForm(readable, form)) {
      return readable;
    }
    for (let attempt = 0; attempt <= maxAttempts; attempt += 1) {
      const id = hashOf(attempt === 0 ? source : `${source}\u0000again\u0000${attempt}`, form);
      if (!taken.has(id)) {
        return id;
      }
    }
    const message = `Option "profile": "callIds" leaves too few ids for the calls of this conversation.`;
    throw new ConfigurationError("profile", message);
  };
  return (source, readable = "") => {
    const id = made.get(source) ?? freeId(source, readable);
    made.set(source, id);
    taken.add(id);
    return id;
  };
}

function hashOf(source: string, form: CallIdForm): string {
  const { characters = alphanumerics, minLength = 1, maxLength = Infinity } = form;
  const preferred = [...alphanumerics].filter((character) => characters.includes(character));
  const alphabet = preferred.length > 0 ? preferred : [...characters];
  const length = Math.min(maxLength, Math.max(minLength, usualLength));
  const bytes = createHash("shake256", { outputLength: length * 2 })
    .update(source)
    .digest();
  return Array.from({ length }, (_, index) => alphabet[bytes.readUInt16BE(index * 2) % alphabet.length]!).join("");
}
