import { numberIn, unknownReply, type CallName } from "../../store/redis/errors.js";
import { threadKeys } from "../../store/redis/keys.js";
import type { TimeToLive } from "../../base/options.js";
import type { ScriptCall, ScriptRunner } from "../../store/redis/script-runner.js";
import { randomToken, shortHash } from "../../base/ids.js";
import {
  listCheckpointsScript,
  pruneThreadScript,
  putCheckpointScript,
  putWritesScript,
  readCheckpointScript,
} from "./lua/scripts.js";
import { refusalFrom } from "../../store/contract/refusals.js";
import { damagedThread, placeOf } from "../../store/redis/thread-records.js";
import { eraseThread } from "../../store/redis/whole-thread.js";
import { BoundedMap } from "../../base/bounds.js";

/** A checkpoint as it is stored. */
export interface StoredCheckpoint {
  readonly member: string;
  /** Null where only writes are stored. */
  readonly record: string | null;
  /** Empty for none. */
  readonly writes: string;
}

/** Positions and texts of items. */
export type Items = ReadonlyMap<number, string>;

/** Checkpoints and the items that they name, read at one moment. */
export interface CheckpointPage {
  readonly checkpoints: readonly StoredCheckpoint[];
  readonly items: Items;
}

/** A record to store. */
interface RecordWrite {
  readonly kind: "checkpoint" | "writes";
  readonly threadId: string;
  readonly member: string;
  readonly tail: string;
  readonly items: readonly string[];
  /** The token with which the positions in the record were read; undefined where it names none. */
  readonly expected: string | undefined;
  /** The data key with which it is sealed. */
  readonly key: string | undefined;
  /** Owner of a thread that has none yet. */
  readonly owner: string | undefined;
  /** True for a checkpoint without a parent: a thread may begin with it where one was cleared. */
  readonly isFirst: boolean;
}

/** How threads are kept. */
interface ThreadSettings {
  readonly keyPrefix: string;
  readonly threadTTL: TimeToLive | undefined;
  readonly keep: number | undefined;
}

/** The calls that store records. */
export const putCalls = { checkpoint: "put", writes: "putWrites" } as const;

/** The name of a call that concerns a thread. */
export function callOf(operation: string, threadId: string): CallName {
  return { operation, sessionId: threadId, subject: "thread" };
}

/** Threads in Redis: three keys each in one hash slot, each change one script. */
export class ThreadStore {
  readonly #runner: ScriptRunner;
  readonly #settings: ThreadSettings;

  constructor(runner: ScriptRunner, settings: ThreadSettings) {
    this.#runner = runner;
    this.#settings = settings;
  }

  /** Stores a record; `STALE` if the thread's items changed since. */
  async write(record: RecordWrite): Promise<Omit<WrittenItems, "digests"> | "STALE"> {
    const { kind, threadId, member, tail, items, expected, key, owner, isFirst } = record;
    const { threadTTL, keep } = this.#settings;
    const request = {
      token: randomToken(),
      ...{ expected, key, owner, isFirst },
      ...(threadTTL !== undefined && { ttl: threadTTL.ms }),
      ...(kind === "checkpoint" && keep !== undefined && { keep, most: mostRoots(keep) }),
    };
    const script = kind === "checkpoint" ? putCheckpointScript : putWritesScript;
    const args = [JSON.stringify(request), member, tail, ...items];
    const [word, ...reply] = await this.#run(putCalls[kind], threadId, { script, args, writes: true });
    if (word === "STALE") {
      return "STALE";
    }
    const [base, before, token] = reply as [unknown, string, string];
    return { base: numbersOf(putCalls[kind], threadId)(base), before, token };
  }

  /**
   * The first of these checkpoints that is stored, without ids the newest, and its items; the thread's token; `isOlder`
   * for a last id that is not stored, and older than all of the root namespace: it was dropped.
   */
  async read(
    threadId: string,
    ns: string,
    ids: readonly string[],
    operation = "getTuple",
  ): Promise<{
    readonly token: string;
    readonly checkpoint?: StoredCheckpoint;
    readonly items: Items;
    readonly isOlder: boolean;
  }> {
    const { threadTTL } = this.#settings;
    const ttl = threadTTL?.refreshOnRead ? threadTTL.ms : "";
    const call = { script: readCheckpointScript, args: [ttl, ns, ...ids], writes: ttl !== "" };
    const [word, token, member, record, writes, items, oldest] = await this.#run(operation, threadId, call);
    const isBefore = (root: unknown) => typeof root === "string" && placeOf(root).id > (ids.at(-1) ?? "");
    if (word === "NONE") {
      return { token: token as string, items: new Map(), isOlder: isBefore(member) };
    }
    const checkpoint = { member: member as string, record: record as string | null, writes: writes as string };
    const number = numbersOf(operation, threadId);
    return { token: token as string, checkpoint, items: itemsFrom(items, number), isOlder: isBefore(oldest) };
  }

  /** A page of checkpoints between two members, the newest first, with their items; undefined for no thread. */
  async list(
    threadId: string,
    bounds: readonly [upper: string, lower: string],
    count: number,
  ): Promise<CheckpointPage | undefined> {
    const args = [...bounds, count];
    const reply = await this.#run("list", threadId, { script: listCheckpointsScript, args, writes: false });
    return pageFrom(reply, numbersOf("list", threadId));
  }

  /** Drops all but the newest checkpoints; returns their number. */
  async prune(threadId: string, keep: number): Promise<number> {
    const call = { script: pruneThreadScript, args: [keep, randomToken()], writes: true };
    const [word, dropped] = await this.#run("prune", threadId, call);
    return word === "NONE" ? 0 : numbersOf("prune", threadId)(dropped);
  }

  /** Removes a thread, whole or damaged; the tombstone of an erasure stays. */
  async remove(threadId: string): Promise<void> {
    const scan = { runner: this.#runner, keyPrefix: this.#settings.keyPrefix };
    await eraseThread(scan, callOf("deleteThread", threadId), "{}");
  }

  async #run(operation: string, threadId: string, call: Omit<ScriptCall, "keys">): Promise<unknown[]> {
    const name = callOf(operation, threadId);
    const reply = (await this.#runner.run(name, { ...call, keys: this.#keys(threadId) })) as unknown[];
    if (reply[0] === "DAMAGED") {
      throw damagedThread(operation, threadId);
    }
    if (reply[0] === "ERASED") {
      throw refusalFrom("ERASED", undefined, name)!;
    }
    if (!knownWords.has(reply[0] as string)) {
      throw unknownReply(name);
    }
    return reply;
  }

  #keys(threadId: string): string[] {
    const { items, checkpoints, order } = threadKeys(this.#settings.keyPrefix, threadId);
    return [items, checkpoints, order];
  }
}

const knownWords = new Set(["OK", "NONE", "STALE"]);

/** Checkpoints of the root namespace at which old ones are dropped: not at each put, because dropping takes longer. */
function mostRoots(keep: number): number {
  return keep + Math.max(8, Math.floor(keep / 4));
}

/** Reads the numbers in the reply to a call. */
function numbersOf(operation: string, threadId: string): (reply: unknown) => number {
  return (reply) => numberIn(reply, callOf(operation, threadId));
}

function pageFrom(
  [word, page, items]: readonly unknown[],
  number: (reply: unknown) => number,
): CheckpointPage | undefined {
  if (word === "NONE") {
    return undefined;
  }
  const texts = page as readonly string[];
  const checkpoints: StoredCheckpoint[] = [];
  for (let index = 0; index < texts.length; index += 3) {
    checkpoints.push({ member: texts[index]!, record: texts[index + 1]!, writes: texts[index + 2]! });
  }
  return { checkpoints, items: itemsFrom(items, number) };
}

function itemsFrom(reply: unknown, number: (reply: unknown) => number): Items {
  const items = new Map<number, string>();
  const runs = reply as readonly unknown[];
  for (let index = 0; index < runs.length; index += 2) {
    const first = number(runs[index]);
    (runs[index + 1] as readonly string[]).forEach((text, offset) => items.set(first + offset, text));
  }
  return items;
}

/** Threads of which a process knows what is stored. */
const mostThreads = 500;

/** The position of the first item that a write brings: a thread begins with an empty one. */
const firstOfAll = 1;

/** The items of a thread that a process knows, valid as long as the thread has this token: others may not write. */
export interface KnownThread {
  /** Empty for a thread that is not stored. */
  readonly token: string;
  /** Digest of a text → its position. */
  readonly positions: Map<string, number>;
}

/** The changes of a write. */
interface WrittenItems {
  readonly base: number;
  /** The thread's token before and after the write; "" where the write dropped items. */
  readonly before: string;
  readonly token: string;
  /** Digests of the texts that were sent: each list names one item. */
  readonly digests: readonly (readonly string[])[];
}

/** Cache of the items that this process has seen, by thread. Losing it costs a read. */
export class KnownItems {
  readonly #threads = new BoundedMap<string, KnownThread>(mostThreads);

  /** The known items of a thread; undefined if there are none. */
  of(threadId: string): KnownThread | undefined {
    const thread = this.#threads.get(threadId);
    if (thread !== undefined) {
      this.#threads.set(threadId, thread);
    }
    return thread;
  }

  /** Notes what a read showed. */
  noteRead(threadId: string, token: string, items: ReadonlyMap<number, string>): KnownThread {
    const current = this.#threads.get(threadId);
    const thread = current?.token === token ? current : { token, positions: new Map<string, number>() };
    // Mostly all are known, and a digest takes a hundred times as long as to see that.
    const positions = new Set(thread.positions.values());
    for (const [position, text] of items) {
      if (!positions.has(position)) {
        thread.positions.set(digestOf(text), position);
      }
    }
    this.#threads.set(threadId, thread);
    return thread;
  }

  /**
   * Records the items that a write stored. Forgets a thread of which the write dropped some, or of which nothing else
   * is known, unless the write created it: its other items would be stored again.
   */
  noteWrite(threadId: string, { base, before, token, digests }: WrittenItems): void {
    const current = this.#threads.get(threadId);
    const isBegun = base === firstOfAll && (current?.token ?? "") === "";
    if (token === "" || (current?.token !== before && !isBegun)) {
      this.#threads.delete(threadId);
      return;
    }
    const positions = isBegun ? new Map<string, number>() : current!.positions;
    digests.forEach((names, index) => names.forEach((name) => positions.set(name, base + index)));
    this.#threads.set(threadId, { token, positions });
  }

  /** Forgets a thread: the next write of it reads first. */
  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }
}

/** The name of a text. It never leaves the process. */
export function digestOf(text: string): string {
  return shortHash(text, 43);
}
