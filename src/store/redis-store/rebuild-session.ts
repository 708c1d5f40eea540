import { maxTries } from "../../base/tries.js";
import { randomToken } from "../../base/ids.js";
import { dropCopy } from "../redis-lists/owner-erasure.js";
import { keptChanging, ownerLost } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askOf, type ScriptRunner, runOnSession } from "../redis/script-runner.js";
import { digestLength } from "../redis/stored-fields.js";
import { forkKeys, logSum, type SessionKeys } from "../redis/keys.js";
import { beginsRound } from "../contract/record-text.js";
import { readAllScript, rebuildScript, stageIndexScript } from "../redis/lua/later-scripts.js";
import type { IdentifiedRecord } from "../contract/session-writes.js";
import { marksIn } from "../contract/turns.js";
import { identityOf } from "./copies.js";
import { sizesOf } from "./turn-marks.js";
import type { CallName } from "../redis/errors.js";

/** Records of a page, and fields of `ids` that a script writes at most. */
const pageLength = 1_000;
/** Records and fields of `ids` that are rebuilt by one script; of a longer session, the new `ids` are staged first. */
const mostAtOnce = 2_000;
/** Time to live of what is staged after the last piece, in milliseconds. */
const stagingMs = 600_000;

/** Context of a rebuild. */
export interface Rebuild {
  readonly session: SessionRef;
  /** True to assign the owner of `session` if the owner is lost. */
  readonly assigns: boolean;
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
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
}

/** The fields of `ids` and their values. */
type Index = Map<string, string>;

/**
 * Derives `ids` and `state` from the log, page by page, and writes them by compare-and-set; no script takes longer in a
 * long session. Returns the owner, or `""`.
 *
 * @throws ConflictError `stale` if it changed during each try, `other_owner`; StoreError `erased`, and `damaged` if its
 *   owner is lost.
 */
export async function rebuildSession(rebuild: Rebuild): Promise<string> {
  const { name } = rebuild;
  for (let count = 0; count < maxTries.write; count += 1) {
    const { index, idCount, owner, ...read } = await readWholeLog(rebuild);
    const isLong = read.length + idCount > mostAtOnce;
    const [word, reply] = await (isLong ? writeStaged(rebuild, read, { index, owner }) : write(rebuild, read, index));
    if (word === "OWNED") {
      throw ownerLost(name.sessionId);
    }
    if (word === "REBUILT") {
      return reply!;
    }
  }
  throw keptChanging("rebuild", name.sessionId);
}

/** Writes the index; or puts the staged one in its place, whose key and number of fields are given. */
async function write(
  { runner, name, keys, session, assigns }: Rebuild,
  read: LogReading,
  index: Index,
  staged?: string,
): Promise<[word: string, owner?: string]> {
  const size = staged === undefined ? {} : { staged: index.size };
  const request = { ...read, ...size, newEpoch: randomToken(), newRev: randomToken(), assigns, ...askOf(session) };
  const args = [JSON.stringify(request), ...(staged === undefined ? [...index].flat() : [])];
  const all = [keys.log, keys.ids, keys.state, ...(staged === undefined ? [] : [staged])];
  return (await runOnSession(runner, name, { script: rebuildScript, keys: all, args, writes: true })) as [string];
}

/** Stages the index under a key of its own, with what is known of discarded messages, before it is written. */
async function writeStaged(
  rebuild: Rebuild,
  read: LogReading,
  { index, owner }: { readonly index: Index; readonly owner: string },
): Promise<[word: string, owner?: string]> {
  const { runner, name, keyPrefix } = rebuild;
  const tag = randomToken();
  const { ids, state } = forkKeys(keyPrefix, name.sessionId, tag);
  const whole: Index = new Map([...(await discardedIn(rebuild, Number(read.fields[2]))), ...index]);
  const pairs = [...whole];
  try {
    for (let from = 0; from < pairs.length; from += pageLength) {
      const args = [owner, stagingMs, ...pairs.slice(from, from + pageLength).flat()];
      await runner.run(name, { script: stageIndexScript, keys: [ids, state], args, writes: true });
    }
    return await write(rebuild, read, whole, ids);
  } finally {
    await dropCopy({ runner, keyPrefix }, { sessionId: name.sessionId, tag });
  }
}

/** The fields of `ids` for messages and turns before a position. */
async function discardedIn({ runner, name, keys }: Rebuild, base: number): Promise<Index> {
  const index: Index = new Map();
  for (let cursor = base > 0 ? "0" : undefined; cursor !== undefined;) {
    const command = { verb: "hscan", args: [keys.ids, cursor, "COUNT", pageLength] };
    const [next, pairs] = (await runner.read(name, command)) as [string, string[]];
    for (let at = 0; at < pairs.length; at += 2) {
      const position = /^-?\d+$/.exec(pairs[at + 1]!.slice(digestLength))?.[0];
      if (position !== undefined && Number(position) < base) {
        index.set(pairs[at]!, pairs[at + 1]!);
      }
    }
    cursor = next === "0" ? undefined : next;
  }
  return index;
}

async function readWholeLog({ runner, session, assigns, name, keys, identify }: Rebuild) {
  const index: Index = new Map();
  const identified: (IdentifiedRecord | undefined)[] = [];
  let rounds = 0;
  let sum = 0;
  for (;;) {
    const from = identified.length;
    const args = [JSON.stringify({ ...askOf(session), assigns }), from, from + pageLength - 1];
    const call = { script: readAllScript, keys: [keys.log, keys.ids, keys.state], args, writes: false };
    const [, records, fields, first, count, owner] = (await runOnSession(runner, name, call)) as AllReply;
    // An application may have its client return numbers as strings.
    const [base, idCount] = [Number(first), Number(count)];
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
      return { length: identified.length, fields, rounds, sum, index, idCount, owner };
    }
  }
}

type AllReply = [word: string, records: string[], fields: string[], base: unknown, known: unknown, owner: string];
