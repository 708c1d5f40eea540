import type { BaseMessage } from "@langchain/core/messages";
import { CallIdTranslator } from "./call-ids.js";
import { type LinkedCall, answeredId, callsOf, showId } from "../../messages/calls.js";
import { changeCalls, changeMessage } from "../../messages/change-message.js";
import { readStructure } from "../rules/context.js";
import { speakerOf } from "../../messages/roles.js";
import { mustHold, type Entry, type RepairSession } from "./repair-session.js";

/**
 * Gives calls ids that the provider accepts (S13) and that no other call has (S11), and their results the same. Linear.
 */
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
      renamed.set(
        index,
        changeCalls(messages[index]!, (_, place) => (ids[place] === undefined ? undefined : { id: ids[place].id })),
      );
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
