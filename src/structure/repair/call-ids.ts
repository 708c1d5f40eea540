import type { BaseMessage } from "@langchain/core/messages";
import { type LinkedCall, answeredId, callsOf, showId } from "../../messages/calls.js";
import { changeMessage } from "../../messages/change-message.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { readStructure } from "../rules/find-issues.js";
import { speakerOf } from "../../messages/roles.js";
import { mustHold, type Entry, type RepairSession } from "./session.js";
import { createHash } from "node:crypto";
import { ConfigurationError } from "../../base/errors.js";
import { alphanumerics, fitsForm } from "../profiles/identifiers.js";
import type { CallIdForm } from "../profiles/profile.js";

/** Gives calls valid (S13) and unique (S11) ids, and changes their results accordingly. Linear. */
export function repairCallIds(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const messages = entries.map(({ message }) => message);
  const newIds = planIds(messages, session);
  if (newIds.size === 0) {
    return entries;
  }
  const { links } = readStructure(messages, session.criteria);
  const renamed = new Map<number, BaseMessage>();
  links.callsAt.forEach((calls, index) => {
    const ids = calls.map((call) => newIds.get(keyOf(call)));
    if (ids.some((id) => id !== undefined)) {
      renamed.set(index, editMessage(messages[index]!, { calls: (_, place) => ids[place] && { id: ids[place].id } }));
    }
    calls.forEach((call, place) => call.results.forEach((result) => renameResult(result, ids[place]?.id)));
    ids.forEach((id, place) => {
      if (id !== undefined) {
        const message = `Gave the call ${showId(calls[place]!.id)} the id ${showId(id.id)}.`;
        session.repairs.push({ rule: id.rule, index: entries[index]!.index, action: "changed", message });
      }
    });
  });
  function renameResult(result: number, id: string | undefined): void {
    if (id !== undefined) {
      renamed.set(result, changeMessage(messages[result]!, { tool_call_id: id }));
    }
  }
  return entries.map((entry, index) => ({ ...entry, message: renamed.get(index) ?? entry.message }));
}

interface NewId {
  readonly id: string;
  readonly rule: "S11" | "S13";
}

function keyOf({ index, place }: Pick<LinkedCall, "index" | "place">): string {
  return `${index}:${place}`;
}

/** The new id of each call that needs one, by message and place. */
function planIds(messages: readonly BaseMessage[], session: RepairSession): Map<string, NewId> {
  const { callIds: form, rules } = session.criteria.profile;
  const translates = mustHold(session, "S13");
  const separates = mustHold(session, "S11");
  const everywhere = separates && (form?.reuse ?? rules.S11) === "error";
  const ids = messages.flatMap((message) =>
    speakerOf(message) === "tool" ? [answeredId(message) ?? ""] : callsOf(message).map(({ id = "" }) => id),
  );
  const translator = new CallIdTranslator(translates ? form : undefined, ids);
  const planned = new Map<string, NewId>();
  let seen = new Map<string, number>();
  messages.forEach((message, index) => {
    seen = everywhere ? seen : new Map();
    callsOf(message).forEach(({ id = "" }, place) => {
      const nth = (seen.get(id) ?? 0) + 1;
      seen.set(id, nth);
      const isAnother = separates && nth > 1;
      const made = isAnother ? translator.another(id, nth) : translates ? translator.translate(id) : id;
      if (made !== id) {
        planned.set(keyOf({ index, place }), { id: made, rule: isAnother ? "S11" : "S13" });
      }
    });
  });
  return planned;
}

/** The length of a new id if the form does not set one. */
const usualLength = 24;

/** Collisions before the form's id space counts as exhausted. */
const maxAttempts = 1000;

/**
 * Translates ids to a form. Valid ids stay as they are; an invalid one is replaced by a hash of itself, the same in
 * every request, unless that collides with another id of the conversation: the translation is injective.
 */
class CallIdTranslator {
  readonly #form: CallIdForm;
  readonly #taken: Set<string>;
  readonly #translations = new Map<string, string>();

  /** `ids` are the ids of the conversation, which are reserved. */
  constructor(form: CallIdForm | undefined, ids: Iterable<string>) {
    this.#form = form ?? {};
    this.#taken = new Set(ids);
  }

  /** The id if it is valid, else its translation. */
  translate(id: string): string {
    return fitsForm(id, this.#form) ? id : this.#makeUp(id);
  }

  /** An id for the nth call with the same id, n from 2 on. */
  another(id: string, nth: number): string {
    const readable = `${id}_${nth}`;
    const isFree = id !== "" && !this.#taken.has(readable) && fitsForm(readable, this.#form);
    if (isFree) {
      this.#taken.add(readable);
      return readable;
    }
    return this.#makeUp(`${id}\u0000${nth}`);
  }

  #makeUp(source: string): string {
    const known = this.#translations.get(source);
    if (known !== undefined) {
      return known;
    }
    let made = this.#hash(source);
    for (let attempt = 1; this.#taken.has(made); attempt += 1) {
      if (attempt > maxAttempts) {
        throw new ConfigurationError(
          "profile",
          `Option "profile": "callIds" leaves too few ids for the calls of this conversation.`,
        );
      }
      made = this.#hash(`${source}\u0000again\u0000${attempt}`);
    }
    this.#taken.add(made);
    this.#translations.set(source, made);
    return made;
  }

  #hash(source: string): string {
    const { characters = alphanumerics, minLength = 1, maxLength = Infinity } = this.#form;
    const preferred = [...alphanumerics].filter((character) => characters.includes(character));
    const alphabet = preferred.length > 0 ? preferred : [...characters];
    const length = Math.min(maxLength, Math.max(minLength, usualLength));
    const bytes = createHash("shake256", { outputLength: length * 2 })
      .update(source)
      .digest();
    return Array.from({ length }, (_, index) => alphabet[bytes.readUInt16BE(index * 2) % alphabet.length]!).join("");
  }
}
