import { encodedMember, entriesFrom, entryArguments, type DescribedSession, type IndexEntry } from "./index-entries.js";
import { ownerKeys } from "./keys.js";
import type { CallName } from "./redis-errors.js";
import type { ScriptRunner } from "./script-runner.js";
import { countEntriesScript } from "./scripts/count-entries.js";
import { dropEntriesScript } from "./scripts/drop-entries.js";
import { listEntriesScript } from "./scripts/list-entries.js";
import { markOwnerScript, unmarkOwnerScript } from "./scripts/mark-owner.js";
import { putEntriesScript } from "./scripts/put-entries.js";
import type { Script } from "./scripts/script.js";

/** How entries are written: see {@link putEntriesScript}. */
export type PutMode = "announce" | "front" | "place" | "keep";

/** What came of a write: the scores of the entries, or the mark of an erasure. */
export type PutOutcome = { readonly scores: readonly number[] } | { readonly mark: string };

/** A session in an index, and the score that it had when it was read there. */
export type ScoredSession = Pick<IndexEntry, "sessionId" | "score">;

/** The end of an erasure. */
export interface OwnerRelease {
  readonly mark: string;
  /** How long the mark stays. */
  readonly milliseconds: number;
  /** What was just erased. */
  readonly erased: readonly ScoredSession[];
  /** True to end it although other sessions were announced meanwhile. */
  readonly inAnyCase: boolean;
}

/** The index of each owner: each method is one script on the two keys in the owner's slot. */
export class OwnerIndex {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  async list(
    owner: string,
    before: number | undefined,
    limit: number,
  ): Promise<{ entries: IndexEntry[]; next?: number }> {
    const args = [before === undefined ? "" : String(before), limit];
    const reply = (await this.#run("listSessions", owner, {
      script: listEntriesScript,
      args,
      writes: false,
    })) as string[];
    const entries = entriesFrom(reply, 1);
    return reply[0] === "" ? { entries } : { entries, next: Number(reply[0]) };
  }

  async count(owner: string): Promise<number> {
    const call = { script: countEntriesScript, args: [], writes: false };
    return Number(await this.#run("countSessions", owner, call));
  }

  /** Writes entries; `mark` is that of the last erasure of this owner, as far as it is known. */
  async put(
    owner: string,
    sessions: readonly DescribedSession[],
    { mode, mark }: { readonly mode: PutMode; readonly mark?: string | undefined },
  ): Promise<PutOutcome> {
    return this.putEntries(owner, sessions.flatMap(entryArguments), { mode, mark });
  }

  /** The same with entries as the script takes them. */
  async putEntries(
    owner: string,
    entries: readonly string[],
    { mode, mark }: { readonly mode: PutMode; readonly mark?: string | undefined },
  ): Promise<PutOutcome> {
    const args = [JSON.stringify({ mode, mark }), ...entries];
    const call = { script: putEntriesScript, args, writes: true };
    const [word, ...rest] = (await this.#run("indexSession", owner, call)) as string[];
    return word === "MARKED" ? { mark: String(rest[0]) } : { scores: rest.map(Number) };
  }

  /** Removes entries that nobody has written since; those that were announced only after `graceMs`. */
  async drop(owner: string, sessions: readonly ScoredSession[], graceMs: number): Promise<number> {
    const pairs = sessions.flatMap(({ sessionId, score }) => [encodedMember(sessionId), String(score)]);
    const call = { script: dropEntriesScript, args: [String(graceMs), ...pairs], writes: true };
    return sessions.length === 0 ? 0 : Number(await this.#run("unlistSession", owner, call));
  }

  /** The score of a session; undefined where it is not listed. */
  async score(owner: string, sessionId: string): Promise<number | undefined> {
    const { sessions } = ownerKeys(this.#keyPrefix, owner);
    const command = { verb: "zscore", args: [sessions, encodedMember(sessionId)] };
    const reply = await this.#runner.read(nameOf("unlistSession", owner), command);
    return reply === null ? undefined : Number(reply);
  }

  /** Marks an owner as being erased for some time, and returns sessions to erase. */
  async mark(owner: string, milliseconds: number, limit: number): Promise<ScoredSession[]> {
    const call = { script: markOwnerScript, args: [milliseconds, limit], writes: true };
    const reply = (await this.#run("eraseOwner", owner, call)) as string[];
    return Array.from({ length: reply.length / 2 }, (_, index) => ({
      sessionId: decodeURIComponent(reply[2 * index]!),
      score: Number(reply[2 * index + 1]),
    }));
  }

  /** Ends an erasure, with a new mark; false if sessions are left besides those that were just erased. */
  async unmark(owner: string, { mark, milliseconds, erased, inAnyCase }: OwnerRelease): Promise<boolean> {
    const args = [
      mark,
      milliseconds,
      inAnyCase ? "1" : "0",
      ...erased.map(({ sessionId }) => encodedMember(sessionId)),
    ];
    return (await this.#run("eraseOwner", owner, { script: unmarkOwnerScript, args, writes: true })) === "ENDED";
  }

  #run(
    operation: string,
    owner: string,
    call: { readonly script: Script; readonly args: readonly (string | number)[]; readonly writes: boolean },
  ): Promise<unknown> {
    const { sessions, summaries } = ownerKeys(this.#keyPrefix, owner);
    return this.#runner.run(nameOf(operation, owner), { ...call, keys: [sessions, summaries] });
  }
}

function nameOf(operation: string, owner: string): CallName {
  return { operation, sessionId: "", owner };
}
