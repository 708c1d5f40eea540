import { entriesFrom, entryArguments, stampOf, type DescribedSession, type IndexEntry } from "./entries.js";
import { ownerKeys } from "../redis/keys.js";
import type { CallName } from "../redis/errors.js";
import type { ScriptCall, ScriptRunner } from "../redis/script-runner.js";
import {
  countEntriesScript,
  dropEntriesScript,
  listEntriesScript,
  markOwnerScript,
  putEntriesScript,
  unmarkOwnerScript,
} from "../redis/lua/later-scripts.js";
import type { SessionSummary } from "../store/lists.js";
import { decodeSessionId, encodeSessionId } from "../store/session-ref.js";
import { SessionDescriber } from "./session-describer.js";

/** Mode of a write of entries, see `put-entries.lua`. */
export type PutMode = "announce" | "front" | "place" | "keep";

/** A listed session and the stamp of its entry as read. */
export type SeenEntry = Pick<IndexEntry, "sessionId" | "stamp">;

/** An entry that is to be erased, also one that names no session. */
export interface MarkedEntry {
  /** Its name in the list. */
  readonly member: string;
  readonly sessionId: string | undefined;
  readonly stamp: string;
}

/** The end of an erasure. */
export interface OwnerRelease {
  readonly mark: string;
  /** Expiry of the mark. */
  readonly milliseconds: number;
  /** Entries just erased. */
  readonly erased: readonly MarkedEntry[];
  /** True to end the erasure despite newly announced sessions. */
  readonly inAnyCase: boolean;
}

/** Owners' lists: each method is one command or script on the two keys in the owner's slot. */
export class OwnerLists {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #describer: SessionDescriber;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
    this.#describer = new SessionDescriber(runner, keyPrefix);
  }

  async list(
    owner: string,
    before: number | undefined,
    limit: number,
  ): Promise<{ entries: IndexEntry[]; next?: number }> {
    const args = [before === undefined ? "" : String(before), limit];
    const call = { script: listEntriesScript, args, writes: false };
    const reply = (await this.#run("listSessions", owner, call)) as string[];
    const entries = entriesFrom(reply, 1);
    return reply[0] === "" ? { entries } : { entries, next: Number(reply[0]) };
  }

  async count(owner: string): Promise<number> {
    const call = { script: countEntriesScript, args: [], writes: false };
    return Number(await this.#run("countSessions", owner, call));
  }

  /**
   * Writes entries, if `mark` is the owner's last erasure; else writes nothing and returns the mark of that erasure.
   *
   * Reads sessions again that were unlisted or only announced: whoever removed one after it was described found no
   * entry to remove.
   */
  async put(
    owner: string,
    sessions: readonly DescribedSession[],
    { mode, mark }: { readonly mode: PutMode; readonly mark?: string | undefined },
  ): Promise<string | undefined> {
    const [word, ...found] = await this.#put(owner, { mode, mark }, sessions.flatMap(entryArguments));
    if (word === "MARKED") {
      return String(found[0]);
    }
    await Promise.all(found.map((number) => this.#confirm(owner, sessions[Number(number)]!)));
    return undefined;
  }

  /** Removes the entry of a session that has ended since it was described. */
  async #confirm(owner: string, { details: { sessionId }, version }: DescribedSession): Promise<void> {
    if ((await this.#describer.describeOf(owner, sessionId)) === undefined) {
      await this.drop(owner, [{ sessionId, stamp: String(version) }], 0);
    }
  }

  /**
   * Announces a session by an {@link announcement}. Returns its stamp; undefined if it replaced another announcement
   * than `own`, whose writer may still be active.
   */
  async announce(owner: string, entry: readonly string[], own: string | undefined): Promise<string | undefined> {
    const [, stamp = ""] = await this.#put(owner, { mode: "announce", own }, entry);
    return stamp === "" ? undefined : stamp;
  }

  /** Removes unchanged entries (compare-and-delete by stamp); announced ones only after `graceMs`. */
  async drop(owner: string, sessions: readonly (SeenEntry | MarkedEntry)[], graceMs: number): Promise<number> {
    const pairs = sessions.flatMap((entry) => [memberOf(entry), entry.stamp]);
    const call = { script: dropEntriesScript, args: [String(graceMs), ...pairs], writes: true };
    return sessions.length === 0 ? 0 : Number(await this.#run("unlistSession", owner, call));
  }

  /** The last summary of a session in the owner's list, also while it is announced again; undefined if not listed. */
  async summary(owner: string, sessionId: string): Promise<SessionSummary | undefined> {
    const { summaries } = ownerKeys(this.#keyPrefix, owner);
    const member = encodeSessionId(sessionId);
    const value = await this.#runner.read(nameOf("listSessions", owner), { verb: "hget", args: [summaries, member] });
    return typeof value === "string" ? entriesFrom([member, value.replace(/^\?\d+ /, "")], 0)[0]!.summary : undefined;
  }

  /** The stamp of a session's entry; undefined if not listed. */
  async stamp(owner: string, sessionId: string): Promise<string | undefined> {
    const { summaries } = ownerKeys(this.#keyPrefix, owner);
    const command = { verb: "hget", args: [summaries, encodeSessionId(sessionId)] };
    const value = (await this.#runner.read(nameOf("unlistSession", owner), command)) as string | null;
    return value === null ? undefined : stampOf(value);
  }

  /** Marks an owner as being erased for some time, and returns sessions to erase. */
  async mark(owner: string, milliseconds: number, limit: number): Promise<MarkedEntry[]> {
    const call = { script: markOwnerScript, args: [milliseconds, limit], writes: true };
    const reply = (await this.#run("eraseOwner", owner, call)) as string[];
    return Array.from({ length: reply.length / 2 }, (_, index) => ({
      member: reply[2 * index]!,
      sessionId: decodeSessionId(reply[2 * index]!),
      stamp: reply[2 * index + 1]!,
    }));
  }

  /** Ends an erasure, with a new mark; false if sessions are left besides those that were just erased. */
  async unmark(owner: string, { mark, milliseconds, erased, inAnyCase }: OwnerRelease): Promise<boolean> {
    const args = [mark, milliseconds, inAnyCase ? "1" : "0", ...erased.map(memberOf)];
    return (await this.#run("eraseOwner", owner, { script: unmarkOwnerScript, args, writes: true })) === "ENDED";
  }

  async #put(owner: string, request: PutRequest, entries: readonly string[]): Promise<string[]> {
    const call = { script: putEntriesScript, args: [JSON.stringify(request), ...entries], writes: true };
    return (await this.#run("indexSession", owner, call)) as string[];
  }

  #run(operation: string, owner: string, call: Omit<ScriptCall, "keys">): Promise<unknown> {
    const { sessions, summaries } = ownerKeys(this.#keyPrefix, owner);
    return this.#runner.run(nameOf(operation, owner), { ...call, keys: [sessions, summaries] });
  }
}

/** Request of the script that writes entries. */
interface PutRequest {
  readonly mode: PutMode;
  readonly mark?: string | undefined;
  readonly own?: string | undefined;
}

function nameOf(operation: string, owner: string): CallName {
  return { operation, sessionId: "", owner };
}

function memberOf(entry: SeenEntry | MarkedEntry): string {
  return "member" in entry ? entry.member : encodeSessionId(entry.sessionId);
}
