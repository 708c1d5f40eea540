import type { BaseMessage } from "@langchain/core/messages";
import { findOrphanResults } from "../../../src/conversation/messages/content.js";
import { builtInProfiles } from "../../../src/conversation/structure/profiles/built-in-profiles.js";
import type { BuiltInProfile } from "../../../src/conversation/structure/profiles/built-in-profiles.js";
import { repairConversation, validateConversation } from "../../../src/conversation/structure/validate.js";
import { structureRules } from "../../../src/conversation/structure/rules/rules.js";
import { UsageError } from "../../failure.js";
import type { Server } from "../../server.js";
import type { Findings } from "../model/data.js";
import { readLog, type LogItem } from "./log-reader.js";
import { readFront } from "./session-front.js";

const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

/** A message of the view: its position in the log, or its place in the head. */
export interface ViewEntry extends Pick<LogItem, "record" | "counts"> {
  readonly message: BaseMessage;
  readonly position?: number;
  readonly place?: number;
}

/**
 * Findings about the view by the rules of a profile, and their repairs.
 *
 * @throws UsageError for an unknown profile; EncryptionError.
 */
export async function findingsOf(server: Server, sessionId: string, name: string): Promise<Findings> {
  const profile = profiles.find((each) => each === name);
  if (profile === undefined) {
    throw new UsageError(`"profile" must be one of ${profiles.join(", ")}.`);
  }
  const { entries, hidden } = await readView(server, sessionId);
  const messages = entries.map(({ message }) => message);
  const placeOf = (index: number) => {
    const { position, place } = entries[index] ?? {};
    return { ...(position !== undefined && { position }), ...(place !== undefined && { place }) };
  };
  const findings = validateConversation(messages, { profile }).map(({ rule, severity, index, message }) => {
    return { rule, sentence: structureRules[rule], severity, message, ...placeOf(index) };
  });
  const repairs = repairConversation(messages, { profile }).repairs.map(({ rule, index, action, message }) => {
    return { rule, action, message, ...placeOf(index) };
  });
  return { profile, profiles, findings, repairs, hidden };
}

/** A view of an earlier moment: where it began and ended in the log, and whether it had the front of today's. */
export interface EarlierView {
  readonly from: number;
  readonly to: number;
  readonly hasFront: boolean;
}

/** The view as a model gets or got it, and the positions of results that are hidden from it. */
export async function readView(
  server: Server,
  sessionId: string,
  earlier?: EarlierView,
): Promise<{ readonly entries: readonly ViewEntry[]; readonly hidden: readonly number[] }> {
  const { items, start } = await readFront(server, sessionId);
  const front = earlier?.hasFront === false ? [] : items;
  const range = { from: earlier?.from ?? start, ...(earlier && { to: earlier.to }) };
  const all: ViewEntry[] = front.flatMap(({ message, record, counts }, place) =>
    message === undefined ? [] : [{ message, record, counts, place }],
  );
  for await (const { items: chunk } of readLog(server, sessionId, range)) {
    for (const { message, record, counts, position } of chunk) {
      if (message !== undefined) {
        all.push({ message, record, counts, position });
      }
    }
  }
  const orphans = new Set(findOrphanResults(all.map(({ message }) => message)));
  return {
    entries: all.filter((_, index) => !orphans.has(index)),
    hidden: [...orphans].flatMap((index) => all[index]!.position ?? []),
  };
}
