import { MemoryError } from "../../base/errors.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import type { CallName } from "../redis/errors.js";
import { sessionKeys } from "../redis/keys.js";
import { readStateScript } from "../redis/lua/later-scripts.js";
import { pairsIn } from "../redis/pairs.js";
import { runOnSession, type ScriptRunner } from "../redis/script-runner.js";
import { damaged, refuseOwner } from "../contract/refusals.js";
import { summaryOf, type ModelUsage, type SessionDetails, type SessionSummary } from "../contract/lists.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { ListEntry } from "./owner-lists.js";

const fields = [
  ...["epoch", "owner", "label", "created", "updated", "base", "next", "rounds", "tokens", "usage"],
  ...["title", "metadata", "erased", "key", "dek"],
] as const;

/** A session as `state` describes it; `lost` where there is none, or no hash, undefined where it was erased. */
type Found = SessionDetails | "lost" | undefined;

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
  async describe(session: SessionRef): Promise<SessionDetails | undefined> {
    const { id, owner } = session;
    const [answer] = await this.#read({ operation: "describeSession", sessionId: id }, [id]);
    if (owner === undefined || !isUnclear(answer)) {
      const details = answer === "lost" ? undefined : answer;
      refuseOwner(session, details?.owner);
      return details;
    }
    const { epoch, messages } = await this.#restOf(id, owner);
    if (answer !== "lost") {
      return answer;
    }
    if (epoch !== "") {
      // It began between the two reads.
      return this.describe(session);
    }
    if (messages > 0) {
      throw damaged("describeSession", id);
    }
    return undefined;
  }

  /**
   * Reads the sessions of an owner's entries in one pipeline. A session that lost its state is looked at once more, and
   * stays if its other keys may be the owner's.
   */
  async see(owner: string, entries: readonly ListEntry[]): Promise<SeenEntries> {
    const ids = entries.map(({ sessionId }) => sessionId);
    const idsToRead = ids.filter((id) => id !== undefined);
    const answers = await this.#readEach({ operation: "listSessions", sessionId: "", owner }, idsToRead);
    const answerOf = ({ sessionId }: ListEntry) =>
      sessionId === undefined ? undefined : answers[idsToRead.indexOf(sessionId)];
    const seen = await Promise.all(
      entries.map(async (entry): Promise<SessionSummary | undefined> => {
        const { sessionId, score } = entry;
        const details = answerOf(entry);
        if (sessionId === undefined || !isUnclear(details)) {
          return details !== "lost" && details?.owner === owner ? summaryOf(details) : undefined;
        }
        const at = Math.floor(score / 1_000);
        const rest = await this.#restOrNone(sessionId, owner);
        return rest && { sessionId, label: {}, createdAt: at, updatedAt: at, ...rest };
      }),
    );
    const ended = entries.filter((_, index) => seen[index] === undefined);
    return {
      sessions: seen.filter((session) => session !== undefined),
      ended,
      missing: ended.filter((entry) => isUnclear(answerOf(entry))),
    };
  }

  /** As {@link #read}; a session whose state holds another type of value is lost, and hides no other. */
  async #readEach(name: CallName, ids: readonly string[]): Promise<Found[]> {
    try {
      return await this.#read(name, ids);
    } catch (error) {
      if (codeOf(error) !== "wrong_type") {
        throw error;
      }
      return ids.length === 1 ? ["lost"] : (await Promise.all(ids.map((id) => this.#readEach(name, [id])))).flat();
    }
  }

  async #read(name: CallName, ids: readonly string[]): Promise<Found[]> {
    const reads = ids.map((id) => {
      const { state } = sessionKeys(this.#keyPrefix, id);
      return [
        { verb: "hmget", args: [state, ...fields] },
        { verb: "pttl", args: [state] },
        { verb: "time", args: [] },
      ];
    });
    const replies = ids.length === 0 ? [] : await this.#runner.transactions(name, reads);
    return replies.map((reply, index) => detailsFrom(ids[index]!, reply));
  }

  /** Reads the other keys of a session. @throws as `describe`. */
  async #restOf(sessionId: string, owner: string) {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, sessionId);
    const args = [JSON.stringify({ owner }), "numbers"];
    const call = { script: readStateScript, keys: [log, ids, state], args, writes: false };
    const reply = await runOnSession(this.#runner, { operation: "describeSession", sessionId }, call);
    const [, epoch = "", messages = 0, , , list = []] = reply as unknown[];
    const rounds = pairsIn(list as string[]).find(([name]) => name === "rounds")?.[1];
    return { epoch, messages: Number(messages), rounds: amountOf(rounds) };
  }

  /** As {@link #restOf}, for one that may be the owner's; undefined if it is not, or nothing is left. */
  async #restOrNone(
    sessionId: string,
    owner: string,
  ): Promise<Pick<SessionSummary, "messages" | "rounds"> | undefined> {
    try {
      const { messages, rounds } = await this.#restOf(sessionId, owner);
      return messages > 0 ? { messages, rounds } : undefined;
    } catch (error) {
      if (codeOf(error) === "other_owner") {
        return undefined;
      }
      if (codeOf(error) === "damaged" || codeOf(error) === "wrong_type") {
        return { messages: 0, rounds: 0 };
      }
      throw error;
    }
  }
}

/** True where other keys may say more: a hold, say, has created the lost state of a session again. */
function isUnclear(answer: Found): boolean {
  return answer === "lost" || (answer !== undefined && answer.owner === undefined && answer.messages === 0);
}

/** Converts the replies of the reads of a session. */
export function detailsFrom(sessionId: string, reply: readonly unknown[]): Found {
  const [values, left, [seconds, micros]] = reply as [(string | null)[], unknown, [unknown, unknown]];
  const [epoch, owner, label, created, updated, base, next, rounds, tokens, usage, title, metadata, erased, key, dek] =
    values;
  if (isText(erased)) {
    return undefined;
  }
  if (!isText(epoch)) {
    return "lost";
  }
  const updatedAt = amountOf(updated);
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
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
    expiresAt: Number(left) >= 0 ? now + Number(left) : undefined,
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

function codeOf(error: unknown): unknown {
  return MemoryError.isInstance(error) ? error.code : undefined;
}
