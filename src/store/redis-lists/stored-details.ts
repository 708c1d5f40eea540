import { MemoryError } from "../../base/errors.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import type { CallName } from "../redis/errors.js";
import { sessionKeys } from "../redis/keys.js";
import { readStateScript } from "../redis/lua/later-scripts.js";
import { pairsIn } from "../redis/thread-records.js";
import { runOnSession, type ScriptRunner } from "../redis/script-runner.js";
import { damaged } from "../contract/refusals.js";
import { summaryOf } from "../contract/session-ref.js";
import type { ModelUsage, SessionDetails, SessionSummary, SessionRef } from "../contract/session-ref.js";
import type { ListEntry } from "./owner-lists.js";

const fields = [
  ...["epoch", "owner", "label", "created", "updated", "base", "next", "rounds", "tokens", "usage"],
  ...["title", "metadata", "key", "dek"],
] as const;

/** A session as `state` describes it, or a word: its log is left, nothing is, or it was erased. */
type Found = SessionDetails | "damaged" | "missing" | "erased";

/** Entries of an owner's list as their sessions are now. */
export interface SeenEntries {
  /** The owner's sessions, in the order of the entries. */
  readonly sessions: readonly SessionSummary[];
  /** Entries of sessions that have ended, or are not the owner's. */
  readonly ended: readonly ListEntry[];
  /** Those of the ended that have no session, so that the first write of one may be under way. */
  readonly missing: readonly ListEntry[];
}

/** Reads what `state` says of sessions. */
export class StoredDetails {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  /**
   * The details of a session; undefined if it does not exist.
   *
   * @throws ConflictError `other_owner`; StoreError `damaged` for a caller with an owner, if its state is lost.
   */
  async describe({ id, owner }: SessionRef): Promise<SessionDetails | undefined> {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, id);
    const call = { script: readStateScript, args: [JSON.stringify({ owner }), "details"], writes: false };
    const read = (keys: readonly string[]) =>
      runOnSession(this.#runner, { operation: "describeSession", sessionId: id }, { ...call, keys });
    const first = (await read([state])) as unknown[];
    // Other keys may say more: a hold, say, has created the lost state of a session again.
    const [known, isErased] = first;
    const isUnclear =
      owner !== undefined && (known === "NONE" ? isErased === undefined : !(first[5] as unknown[]).includes("next"));
    const [word, epoch, messages, , expires, list] = isUnclear ? ((await read([log, ids, state])) as unknown[]) : first;
    if (word === "NONE") {
      return undefined;
    }
    if (epoch === "" && Number(messages) > 0 && owner !== undefined) {
      throw damaged("describeSession", id);
    }
    const stored = new Map(pairsIn(list as string[]));
    const values = fields.map((field) => stored.get(field) ?? null);
    return detailsFrom(id, values, expires === "" ? undefined : Number(expires));
  }

  /**
   * Reads the sessions of an owner's entries in one pipeline. One of which only other keys are left stays on the page,
   * without its numbers: a read says whose it is.
   */
  async see(owner: string, entries: readonly ListEntry[]): Promise<SeenEntries> {
    const ids = entries.map(({ sessionId }) => sessionId);
    const idsToRead = ids.filter((id) => id !== undefined);
    const answers = await this.#readEach({ operation: "listSessions", sessionId: "", owner }, idsToRead);
    const answerOf = ({ sessionId }: ListEntry) =>
      sessionId === undefined ? undefined : answers[idsToRead.indexOf(sessionId)];
    const sessions = entries.map((entry): SessionSummary | undefined => {
      const answer = answerOf(entry);
      if (answer === "damaged") {
        const at = Math.floor(entry.score / 1_000);
        return { sessionId: entry.sessionId!, label: {}, createdAt: at, updatedAt: at, messages: 0, rounds: 0 };
      }
      return typeof answer === "object" && answer.owner === owner ? summaryOf(answer) : undefined;
    });
    const ended = entries.filter((_, index) => sessions[index] === undefined);
    return {
      sessions: sessions.filter((session) => session !== undefined),
      ended,
      missing: ended.filter((entry) => answerOf(entry) === "missing"),
    };
  }

  /** As {@link #read}; a session whose state holds another type of value is damaged, and hides no other. */
  async #readEach(name: CallName, ids: readonly string[]): Promise<Found[]> {
    try {
      return await this.#read(name, ids);
    } catch (error) {
      if (!MemoryError.isInstance(error) || error.code !== "wrong_type") {
        throw error;
      }
      return ids.length === 1 ? ["damaged"] : (await Promise.all(ids.map((id) => this.#readEach(name, [id])))).flat();
    }
  }

  async #read(name: CallName, ids: readonly string[]): Promise<Found[]> {
    const reads = ids.map((id) => {
      const { state } = sessionKeys(this.#keyPrefix, id);
      return [
        { verb: "hmget", args: [state, ...fields, "erased"] },
        { verb: "pttl", args: [state] },
        { verb: "time", args: [] },
      ];
    });
    const replies = ids.length === 0 ? [] : await this.#runner.transactions(name, reads);
    const found = (replies as Reply[]).map(([values, left, [seconds, micros]], index): Found => {
      const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
      const details = detailsFrom(ids[index]!, values, Number(left) >= 0 ? now + Number(left) : undefined);
      return isText(values[fields.length]) ? "erased" : isUnclear(details) ? "missing" : details!;
    });
    // Apart from the state: a cluster refuses two keys of a slot together while it moves them.
    const logs = ids.filter((_, index) => found[index] === "missing").map((id) => sessionKeys(this.#keyPrefix, id).log);
    const asked = logs.map((log) => [{ verb: "exists", args: [log] }]);
    const left = logs.length === 0 ? [] : await this.#runner.transactions(name, asked);
    return found.map((answer) => (answer === "missing" && Number(left.shift()![0]) > 0 ? "damaged" : answer));
  }
}

type Reply = [values: (string | null)[], left: unknown, time: [unknown, unknown]];

/** True where other keys may say more: a hold, say, has created the lost state of a session again. */
function isUnclear(details: SessionDetails | undefined): boolean {
  return details === undefined || (details.owner === undefined && details.messages === 0);
}

/** The details in the values of {@link fields}; undefined without an epoch. */
export function detailsFrom(
  sessionId: string,
  values: readonly (string | null)[],
  expiresAt: number | undefined,
): SessionDetails | undefined {
  const [epoch, owner, label, created, updated, base, next, rounds, tokens, usage, title, metadata, key, dek] = values;
  if (!isText(epoch)) {
    return undefined;
  }
  const updatedAt = amountOf(updated);
  return withoutUndefined<EachOf<SessionDetails>>({
    sessionId,
    label: { ...(isText(title) && { title }), ...(isText(metadata) && { metadata }) },
    labelVersion: label ?? "",
    // Sessions of older releases have no creation time.
    createdAt: amountOf(created ?? updatedAt),
    updatedAt,
    messages: amountOf(amountOf(next) - amountOf(base)),
    rounds: amountOf(rounds),
    owner: owner ?? undefined,
    tokens: isText(tokens) ? amountOf(tokens) : undefined,
    usage: isText(usage) ? usageFrom(usage) : undefined,
    key: isText(key) ? { key, dek: dek ?? "" } : undefined,
    expiresAt,
  });
}

/** A number of 0 or more, also from a damaged session. */
function amountOf(value: string | number | null | undefined): number {
  const number = Number(value ?? 0);
  return number >= 0 && number < Infinity ? number : 0;
}

/** Parses the field `usage`. */
export function usageFrom(text: string): ModelUsage[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [model = "", input, output, total] = line.split("\t");
    return { model, input: Number(input), output: Number(output), total: Number(total) };
  });
}

/** Serializes the field `usage`: one line per model. */
export function usageText(usage: readonly ModelUsage[]): string {
  return usage.map(({ model, input, output, total }) => [model, input, output, total].join("\t")).join("\n");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
