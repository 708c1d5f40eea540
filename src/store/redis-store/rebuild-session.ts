import { maxTries } from "../../base/tries.js";
import { randomToken } from "../../base/ids.js";
import { keptChanging, ownerLost } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askOf, type ScriptRunner, runOnSession } from "../redis/script-runner.js";
import { logSum, type SessionKeys } from "../redis/keys.js";
import { beginsRound } from "../contract/record-text.js";
import { readAllScript, rebuildScript } from "../redis/lua/later-scripts.js";
import type { IdentifiedRecord } from "../contract/session-writes.js";
import { marksIn } from "../contract/turns.js";
import { identityOf } from "./copies.js";
import { sizesOf } from "./turn-marks.js";
import type { CallName } from "../redis/errors.js";

/** Records that one read returns, and fields of `ids` in one argument. */
const pageLength = 1_000;

/** Context of a rebuild. */
export interface Rebuild {
  readonly session: SessionRef;
  /** True to assign the owner of `session` if the owner is lost. */
  readonly assigns: boolean;
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly keys: SessionKeys;
  readonly identify: (record: string, position: number) => IdentifiedRecord | undefined;
}

interface LogReading {
  readonly length: number;
  /** Epoch, rev, base and next, as stored in `state`. */
  readonly fields: readonly string[];
  readonly rounds: number;
  readonly sum: number;
  /** The fields of `ids` and their values. */
  readonly index: ReadonlyMap<string, string>;
}

/**
 * Derives `ids` and `state` from the log, read page by page, and writes them by compare-and-set, in one script. Returns
 * the owner, or `""`.
 *
 * @throws ConflictError `stale` if it changed during each try, `other_owner`; StoreError `erased`, and `damaged` if its
 *   owner is lost.
 */
export async function rebuildSession(rebuild: Rebuild): Promise<string> {
  const { name } = rebuild;
  for (let count = 0; count < maxTries.write; count += 1) {
    const [word, found] = await write(rebuild, await readWholeLog(rebuild));
    if (word === "OWNED") {
      throw ownerLost(name.sessionId);
    }
    if (word === "REBUILT") {
      return found!;
    }
  }
  throw keptChanging("rebuild", name.sessionId);
}

/** Writes the index, a page an argument: Redis closes a connection for a million of them. */
async function write(
  { runner, name, keys, session, assigns }: Rebuild,
  { index, ...read }: LogReading,
): Promise<[word: string, owner?: string]> {
  const request = { ...read, newEpoch: randomToken(), newRev: randomToken(), assigns, ...askOf(session) };
  const lines = [...index].map(([field, value]) => `${field} ${value}\n`);
  const pages = Array.from({ length: Math.ceil(lines.length / pageLength) }, (_, page) =>
    lines.slice(page * pageLength, (page + 1) * pageLength).join(""),
  );
  const args = [JSON.stringify(request), ...pages];
  const call = { script: rebuildScript, keys: [keys.log, keys.ids, keys.state], args, writes: true };
  return (await runOnSession(runner, name, call)) as [string];
}

async function readWholeLog({ runner, session, assigns, name, keys, identify }: Rebuild): Promise<LogReading> {
  const index = new Map<string, string>();
  const identified: (IdentifiedRecord | undefined)[] = [];
  let rounds = 0;
  let sum = 0;
  for (;;) {
    const from = identified.length;
    const args = [JSON.stringify({ ...askOf(session), assigns }), from, from + pageLength - 1];
    const call = { script: readAllScript, keys: [keys.log, keys.ids, keys.state], args, writes: false };
    const [, records, fields, first] = (await runOnSession(runner, name, call)) as AllReply;
    // An application may have its client return numbers as strings.
    const base = Number(first);
    sum = logSum(records, sum);
    for (const record of records) {
      const position = base + identified.length;
      const identity = identify(record, position);
      identified.push(identity);
      // Every record needs a field, or the session would still count as damaged.
      const [hash, other, value] = identityOf({ identity }, position);
      index.set(index.has(hash) ? other : hash, value);
      rounds += beginsRound(record) ? 1 : 0;
    }
    if (records.length < pageLength) {
      marksIn(identified).forEach((mark, turn) => index.set(turn, sizesOf(mark) + String(base + mark.first)));
      return { length: identified.length, fields, rounds, sum, index };
    }
  }
}

type AllReply = [word: string, records: string[], fields: string[], base: unknown];
