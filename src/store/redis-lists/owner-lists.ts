import { ownerKey } from "../redis/keys.js";
import type { CallName } from "../redis/errors.js";
import { sendAlone, type Command, type ScriptRunner } from "../redis/script-runner.js";
import { dropEntriesScript, enterSessionScript } from "../redis/lua/later-scripts.js";
import { type ListPlace, decodeSessionId, encodeSessionId } from "../contract/session-ref.js";

/** An entry of an owner's list as it was read. */
export interface ListEntry extends ListPlace {
  /** Undefined for a member that names no session. */
  readonly sessionId: string | undefined;
}

/** The entry that a write made in front of itself. */
export interface OwnEntry extends ListEntry {
  /** False if the session was listed: by another write, which may be under way. */
  readonly isNew: boolean;
}

/** How a session enters a list. */
export interface Entering {
  /** Milliseconds that the session lives; undefined for ever, 0 where its expiry is as it was. */
  readonly ttlMs: number | undefined;
  /** True for a session that keeps its place where it is listed. */
  readonly keepsPlace?: boolean;
  /** Its score in microseconds. @default the server's time */
  readonly score?: number;
}

/** Owners' lists in Redis: for each owner a ZSET of sessions by the microsecond of their last write. */
export class OwnerLists {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  /** Enters a session, and keeps the list as long as the session lives. Its score is the server's time. */
  async enter(owner: string, sessionId: string, { ttlMs, keepsPlace = false, score }: Entering): Promise<OwnEntry> {
    const member = encodeSessionId(sessionId);
    const args = [member, keepsPlace ? "NX" : "GT", score ?? "", ttlMs ?? ""];
    // No WAIT of its own: the write behind it has one.
    const call = { script: enterSessionScript, keys: [this.#key(owner)], args, writes: false };
    const [micros, added] = (await this.#runner.run(nameOf("enterSession", owner), call)) as [string, number];
    return { sessionId, member, score: Number(micros), isNew: Number(added) === 1 };
  }

  /** Moves a session forward to a score, or back with `LT`. */
  async move(owner: string, sessionId: string, score: number, mode: "GT" | "LT" = "GT"): Promise<OwnEntry> {
    const member = encodeSessionId(sessionId);
    const command = { verb: "zadd", args: [this.#key(owner), mode, score, member] };
    const added = await this.#runner.send(nameOf("enterSession", owner), (client) => sendAlone(client, command));
    return { sessionId, member, score, isNew: Number(added) === 1 };
  }

  /** A page, newest first. Entries of one score are in reverse order of their members, as Redis sorts them. */
  async page(
    owner: string,
    { limit, before }: { readonly limit: number; readonly before?: ListPlace | undefined },
  ): Promise<{ readonly entries: readonly ListEntry[]; readonly next?: ListPlace }> {
    const all: ListEntry[] = [];
    // One more says whether there is a next page; another one is the last of the page before.
    const count = limit + 2;
    for (let offset = 0, isMore = true; isMore && all.length <= limit; offset += count) {
      const range = [before?.score ?? "+inf", "-inf", "WITHSCORES", "LIMIT", offset, count];
      const entries = await this.#entries("zrevrangebyscore", owner, range);
      all.push(...entries.filter((entry) => before === undefined || isBehind(entry, before)));
      isMore = entries.length === count;
    }
    const entries = all.slice(0, limit);
    const { score, member } = entries.at(-1) ?? { score: 0, member: "" };
    return { entries, ...(all.length > limit && { next: { score, member } }) };
  }

  /** The entries that were written longest ago. */
  oldest(owner: string, limit: number): Promise<ListEntry[]> {
    return this.#entries("zrangebyscore", owner, ["-inf", "+inf", "WITHSCORES", "LIMIT", 0, limit]);
  }

  some(owner: string, count: number): Promise<ListEntry[]> {
    return this.#entries("zrandmember", owner, [count, "WITHSCORES"]);
  }

  async count(owner: string): Promise<number> {
    return Number(
      await this.#read("countSessions", owner, { verb: "zcount", args: [this.#key(owner), "-inf", "+inf"] }),
    );
  }

  /** Removes entries that are still as they were read, and were written more than `graceMs` ago. */
  async drop(owner: string, entries: readonly ListPlace[], graceMs: number): Promise<void> {
    const args = [String(graceMs), ...entries.flatMap(({ member, score }) => [member, score])];
    const call = { script: dropEntriesScript, keys: [this.#key(owner)], args, writes: true };
    await (entries.length === 0 ? undefined : this.#runner.run(nameOf("unlistSession", owner), call));
  }

  /** Removes a session that cannot be written any more. */
  async remove(owner: string, sessionId: string): Promise<void> {
    const key = this.#key(owner);
    await this.#runner.command(
      nameOf("unlistSession", owner),
      { verb: "zrem", args: [key, encodeSessionId(sessionId)] },
      [key],
    );
  }

  async #entries(verb: string, owner: string, args: readonly (string | number)[]): Promise<ListEntry[]> {
    const reply = await this.#read("listSessions", owner, { verb, args: [this.#key(owner), ...args] });
    // In RESP3 each member is in a list with its score.
    const flat = (reply as unknown[]).flat();
    return Array.from({ length: flat.length / 2 }, (_, index) => {
      const member = String(flat[2 * index]);
      return { member, score: Number(flat[2 * index + 1]), sessionId: decodeSessionId(member) };
    });
  }

  async #read(operation: string, owner: string, command: Command): Promise<unknown> {
    return (await this.#runner.transaction(nameOf(operation, owner), [command]))[0];
  }

  #key(owner: string): string {
    return ownerKey(this.#keyPrefix, owner);
  }
}

function isBehind(entry: ListPlace, place: ListPlace): boolean {
  return entry.score < place.score || (entry.score === place.score && entry.member < place.member);
}

function nameOf(operation: string, owner: string): CallName {
  return { operation, sessionId: "", owner };
}
