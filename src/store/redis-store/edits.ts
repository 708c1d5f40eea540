import { askText, firstScripts, runOnSession, askOf, type ScriptRunner } from "../redis/script-runner.js";
import { rewrapKeyScript, readAllScript, rebuildScript, stageIndexScript } from "../redis/lua/later-scripts.js";
import { keepsExpiry } from "../redis-lists/followed-lists.js";
import { noRecords, planAppend, beginsRound } from "../contract/append-decision.js";
import { marksIn } from "../contract/session-writes.js";
import type {
  RebuildOptions,
  SessionEdits,
  SessionKeyState,
  AppendResult,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
  IdentifiedRecord,
} from "../contract/session-writes.js";
import type { SessionRef, StoredKey } from "../contract/session-ref.js";
import type { RedisCalls } from "./holds.js";
import { maxTries } from "../../base/bounds.js";
import { randomToken } from "../../base/ids.js";
import { dropCopy } from "../redis-lists/owner-erasure.js";
import { keptChanging, ownerLost } from "../contract/refusals.js";
import { digestLength } from "../redis/stored-fields.js";
import { forkKeys, logSum, type SessionKeys } from "../redis/keys.js";
import { sizesOf } from "./append-call.js";
import type { CallName } from "../redis/errors.js";
import { stagingMs, identityOf } from "./copies.js";

/** Changes of stored records in Redis. */
export class RedisEdits implements SessionEdits {
  readonly #calls: RedisCalls;

  constructor(calls: RedisCalls) {
    this.#calls = calls;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planAppend(session, request, this.#calls.limits);
    return this.#calls.append("replaceTail", session, { request, plan });
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    const write = { request: { records: [], cut: request }, plan: noRecords, ttlMs: keepsExpiry };
    return (await this.#calls.append("rewind", session, write)) === "stale" ? "stale" : "rewound";
  }

  async rebuild(
    session: SessionRef,
    identify: IdentifyRecord,
    { assigns = false }: RebuildOptions = {},
  ): Promise<void> {
    const { id } = session;
    const name = { operation: "rebuild", sessionId: id };
    const { keyPrefix } = this.#calls;
    const rebuild = { ...this.#calls.placeOf(session), keyPrefix, name, identify, assigns };
    await this.#calls.follow(session, {
      ttlMs: keepsExpiry,
      write: async () => this.#calls.noteOwner(id, await rebuildSession(rebuild)),
    });
    this.#calls.forget(id);
  }

  async readKey(session: SessionRef): Promise<SessionKeyState | undefined> {
    const { runner, keys } = this.#calls.placeOf(session);
    const { readEpochScript: script } = await firstScripts();
    const call = { script, keys: [keys.state], args: [askText(session)], writes: false };
    const reply = await runOnSession(runner, { operation: "readKey", sessionId: session.id }, call);
    const [, epoch, key, dek, isLeft] = reply as [string, string, string, string, unknown];
    return epoch === "" && Number(isLeft) === 0 ? undefined : { epoch, stored: key === "" ? undefined : { key, dek } };
  }

  async rewrapKey(session: SessionRef, { was, now }: { readonly was: StoredKey; readonly now: StoredKey }) {
    const { runner, keys } = this.#calls.placeOf(session);
    const args = [askText(session), `${was.key} ${was.dek}`, now.key, now.dek];
    const call = { script: rewrapKeyScript, keys: [keys.ids, keys.state], args, writes: true };
    const [word] = (await runOnSession(runner, { operation: "rewrapKey", sessionId: session.id }, call)) as unknown[];
    return word === "REWRAPPED";
  }
}

/** Records of a page, and fields of `ids` that a script writes at most. */
const pageLength = 1_000;
/** Records and fields of `ids` that are rebuilt by one script; of a longer session, the new `ids` are staged first. */
const mostAtOnce = 2_000;

/** Context of a rebuild. */
interface Rebuild {
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
async function rebuildSession(rebuild: Rebuild): Promise<string> {
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
