import { StoreError } from "../../base/errors.js";
import { fieldsOf, stringIn, valueIn } from "../../conversation/messages/message.js";
import { keyOf, type DataKind, type DataPart, type NamedKey } from "../redis/keys.js";
import type { CallName } from "../redis/errors.js";
import { eraseRunScript, eraseSteersScript, stopWaitingScript } from "../redis/lua/later-scripts.js";
import { scanNames, type KeyScan } from "../redis/scan-keys.js";
import type { Script } from "../redis/script.js";
import type { Command } from "../redis/script-runner.js";
import type { PlainTexts, TextAtPlace } from "../redis/thread-records.js";
import { checkItems, plainItems } from "../redis/stored-items.js";
import { eraseThread, plainTexts, readThread, type StoredThread } from "../redis/whole-thread.js";

const threadParts = ["items", "checkpoints", "order"] as const;

/** The scope of an erasure under one id. */
export interface OthersErasure {
  /** The owner that the call names; undefined removes what is anybody's. */
  readonly owner: string | undefined;
  /** True to remove what names nobody, because the session is the caller's. */
  readonly isNamelessOwn: boolean;
  /** How long a tombstone stays; undefined leaves none, and keeps a run that is under way (`clear` in a turn). */
  readonly guardMs: number | undefined;
  /** True where the id stays in use (`clear`): new runs and threads may begin, and what is under way is refused. */
  readonly isCleared?: true;
}

/** The reason for which a kind has no operation of its own. */
interface LeftOut {
  readonly none: string;
}

/** The operations on a kind of data, by the id in its keys. */
interface KindEntry {
  /** The owner that it names itself. */
  readonly owner: ((scan: KeyScan, id: string) => Promise<string | undefined>) | LeftOut;
  /** The number of its pieces: 1 for a thread or a run, 0 for what is only a tombstone, the number of items. */
  readonly count: ((scan: KeyScan, id: string) => Promise<number>) | LeftOut;
  /** Reads it whole, as it is stored; undefined where nothing is left of it. */
  readonly read: ((scan: KeyScan, id: string) => Promise<StoredThread | undefined>) | LeftOut;
  /** Removes it; true if there was something that counts as data. */
  readonly erase: ((scan: KeyScan, id: string, request: OthersErasure) => Promise<boolean>) | LeftOut;
  /** Says what is wrong with it: by an operation on its stored form, or by the reader that `check` has for the kind. */
  readonly check: ((scan: KeyScan, id: string) => Promise<string[]>) | "by its reader" | LeftOut;
  /** Its data keys: in a part of it, beside texts that may be plain; or each that it has, of what cannot be changed. */
  readonly reencrypt: KeyedHash | ((scan: KeyScan, id: string) => Promise<string[]>) | LeftOut;
}

/** The part of a piece that holds its data keys. */
export interface KeyedHash {
  readonly part: DataPart;
  /** Its plain texts, by pages, and what they become. */
  readonly plain: (scan: KeyScan, id: string, seal: TextAtPlace) => AsyncIterable<PlainTexts>;
}

/** A kind without an operation of its own, for one reason. */
function nothing(none: string) {
  const out: LeftOut = { none };
  return { owner: out, count: out, read: out, erase: out, check: out, reencrypt: out } as const;
}

/** Every kind of data that this package keeps. A new part of a key, or a kind without an entry, does not compile. */
const kinds = {
  session: {
    ...nothing("its store describes, exports and reencrypts it behind erase-session.lua; scanKeys reads its owner"),
    check: "by its reader",
  },
  run: {
    owner: async (scan, id) => stringIn((await newestRun(scan, id))?.["owner"]),
    count: async ({ runner, keyPrefix }, id) => {
      const newest = { verb: "xrevrange", args: [keyOf(keyPrefix, "run", id), "+", "-", "COUNT", 1] };
      const [entries] = (await runner.transaction(nameOf(id, "count"), [newest])) as [RunEntries];
      return entries.some(([, [kind]]) => kind !== "x") ? 1 : 0;
    },
    read: { none: "its answer is stored in its session or thread" },
    erase: async (scan, id, request) => {
      const { guardMs, isCleared } = request;
      const isGone = await eraseBy(scan, id, { script: eraseRunScript, part: "run", args: [textOf(request)] });
      if (isGone !== "KEPT") {
        // One call for each key: most are missing, and a cluster refuses a script that names missing keys of a
        // migrating slot.
        const leftMs = isCleared ? "" : String(guardMs ?? "");
        const steers = { script: eraseSteersScript, part: "run:steers", args: [leftMs] } as const;
        // A start that waits for a session that stays would enter the queue again.
        const queue = isCleared
          ? eraseBy(scan, id, { script: stopWaitingScript, part: "run:queue", args: [""] })
          : command(scan, id, "unlink", "run:queue");
        await Promise.all([eraseBy(scan, id, steers), queue]);
      }
      return isGone === "1";
    },
    check: { none: "it lives for minutes; its readers name what they cannot read" },
    reencrypt: async (scan, id) => {
      const run = await newestRun(scan, id);
      const steers = (await read<string[]>(scan, id, { verb: "lrange", args: ["run:steers", 1, -1] })) ?? [];
      return [...(run ? [stringIn(run["key"]) ?? ""] : []), ...steers.map((steer) => steer.split("\n")[1] ?? "")];
    },
  },
  thread: {
    owner: async (scan, id) =>
      stringIn(await read<string | null>(scan, id, { verb: "hget", args: ["checkpoints", "owner"] })),
    count: async (scan, id) => {
      // The tombstone first: it may expire. Each key alone: a cluster refuses missing keys of a migrating slot.
      const isErased = await read<number>(scan, id, { verb: "hexists", args: ["checkpoints", "erased"] });
      const counts = await Promise.all(threadParts.map((part) => command(scan, id, "exists", part)));
      return counts.reduce((sum: number, count) => sum + Number(count), 0) > Number(isErased ?? 0) ? 1 : 0;
    },
    read: async (scan, id) => {
      const thread = await readThread(scan, id, "export");
      return thread.fields.length + thread.items.length + thread.members.length === 0 ? undefined : thread;
    },
    erase: async (scan, id, request) => (await eraseThread(scan, nameOf(id), textOf(request)))[1] === "1",
    check: "by its reader",
    reencrypt: { part: "checkpoints", plain: plainTexts },
  },
  lease: {
    ...nothing("it holds a random token, for the seconds of a summary"),
    erase: async (scan, id, { isNamelessOwn, guardMs, isCleared }) => {
      // Behind a clear, also one under a hold, it may be that of the session that has begun since.
      await (isNamelessOwn && guardMs !== undefined && !isCleared ? command(scan, id, "unlink", "lease") : undefined);
      return false;
    },
  },
  // It goes by its tag with its owner (dropCopy).
  copy: nothing("it becomes a session of the process that writes it, or expires in ten minutes"),
  item: {
    owner: { none: "items belong to namespaces of the application" },
    read: { none: "items belong to namespaces of the application: search()" },
    count: async ({ runner, keyPrefix }, id) =>
      Number(await runner.read(nameOf("", "count"), { verb: "zcard", args: [keyOf(keyPrefix, "names", id)] })),
    erase: { none: "items belong to namespaces of the application: deleteNamespace()" },
    check: (scan) => checkItems(scan),
    reencrypt: { part: "values", plain: plainItems },
  },
  list: nothing("it holds ids and times of sessions, which a page looks at; its key names its owner"),
  mailbox: nothing("it is a process's, holds names of runs, and lives as long as its process"),
} as const satisfies { readonly [K in DataKind]: KindEntry };
const entries: { readonly [K in DataKind]: KindEntry } = kinds;

/** Kinds that `check` reads with the means of their room. */
export type ReadKind = {
  [K in DataKind]: (typeof kinds)[K]["check"] extends "by its reader" ? K : never;
}[DataKind];

/** The problems of a piece by its table entry; none for a kind that has a reader, or that nobody checks. */
export async function problemsOf(scan: KeyScan, { kind, id }: FoundPiece): Promise<string[]> {
  const { check } = entries[kind];
  return typeof check === "function" ? check(scan, id) : [];
}

/** Removes what else lies under the id of a session, and may be removed; true if a run or a thread was. */
export async function eraseOthers(scan: KeyScan, id: string, request: OthersErasure): Promise<boolean> {
  const erased = Object.values(entries).map(({ erase }) =>
    typeof erase === "function" ? erase(scan, id, request) : false,
  );
  return (await Promise.all(erased)).includes(true);
}

/** A piece of data that a scan found. */
export interface FoundPiece {
  readonly kind: DataKind;
  readonly id: string;
}

/** Pieces that a scan finds, each once, by pages of the scan; of one kind, or of all. */
export async function* foundPieces(scan: KeyScan, only?: DataKind): AsyncGenerator<FoundPiece[]> {
  const seen = new Set<string>();
  for await (const { keys } of scanNames(scan)) {
    const fresh = keys.filter(({ kind, id }) => {
      const isNew = (only === undefined || only === kind) && !seen.has(`${kind} ${id}`);
      seen.add(`${kind} ${id}`);
      return isNew;
    });
    yield fresh.map(({ kind, id }) => ({ kind, id }));
  }
}

/**
 * Pieces that the erasure of an owner would remove beside the given sessions of theirs, if they can be read whole; one
 * that names nobody belongs to its session. Without an owner, everybody's. Yields how to read each.
 */
export async function* ownedPieces(
  scan: KeyScan,
  owner: string | undefined,
  sessions: ReadonlySet<string>,
): AsyncGenerator<FoundPiece & { readonly read: () => Promise<StoredThread | undefined> }> {
  for await (const page of foundPieces(scan)) {
    for (const { kind, id } of page) {
      const { owner: ownerOf, read } = entries[kind];
      if (typeof ownerOf === "function" && typeof read === "function") {
        const named = await ownerOf(scan, id);
        if (owner === undefined || named === owner || (named === undefined && sessions.has(id))) {
          yield { kind, id, read: () => read(scan, id) };
        }
      }
    }
  }
}

/** The number of pieces of each kind that the table counts, on all masters, so far: behind each page of the scan. */
export async function* countOthers(scan: KeyScan): AsyncGenerator<Partial<Record<DataKind, number>>> {
  const counts: Partial<Record<DataKind, number>> = {};
  for await (const page of foundPieces(scan)) {
    await Promise.all(
      page.map(async (piece) => {
        const count = await countOf(scan, piece);
        counts[piece.kind] = (counts[piece.kind] ?? 0) + count;
      }),
    );
    yield counts;
  }
}

/** How the pieces of a kind are brought under another master key, and counted; undefined for a kind without texts. */
export function reencryptionOf(kind: DataKind): Exclude<KindEntry["reencrypt"], LeftOut> | undefined {
  const { reencrypt } = entries[kind];
  return "none" in reencrypt ? undefined : reencrypt;
}

/** The number of pieces that a kind counts under an id. */
export async function countOf(scan: KeyScan, { kind, id }: FoundPiece): Promise<number> {
  const { count } = entries[kind];
  return typeof count === "function" ? count(scan, id) : 0;
}

/** The first entry of the newest run of a session; undefined for none, or a tombstone. */
async function newestRun(scan: KeyScan, id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const newest = await read<RunEntries>(scan, id, { verb: "xrevrange", args: ["run", "+", "-", "COUNT", 1] });
  const at = newest?.[0]?.[0].split("-")[0];
  const begin = at && (await read<RunEntries>(scan, id, { verb: "xrange", args: ["run", `${at}-0`, `${at}-0`] }));
  const [kind, meta] = (begin && begin[0]?.[1]) || [];
  return kind === "b" ? fieldsOf(valueIn(meta ?? "")) : undefined;
}

type RunEntry = readonly [id: string, fields: readonly string[]];
type RunEntries = readonly RunEntry[];

/** The pieces of found keys, and the owner that each of them names itself. */
export async function ownersNamed(scan: KeyScan, keys: readonly NamedKey[]) {
  const pieces = new Map(keys.map((key) => [`${key.kind} ${key.id}`, key]));
  const owners = [...pieces.values()].map(async ({ kind, id }) => {
    const { owner } = entries[kind];
    return { sessionId: id, owner: typeof owner === "function" ? await owner(scan, id) : undefined };
  });
  return Promise.all(owners);
}

/** The owners that the thread and the run of an id name. */
export async function ownersOfOthers(scan: KeyScan, id: string): Promise<string[]> {
  const owners = await Promise.all(
    Object.values(entries).map(({ owner }) => (typeof owner === "function" ? owner(scan, id) : undefined)),
  );
  return owners.flatMap((owner) => owner ?? []);
}

/** The reply to a command on a part of an id, its first argument; undefined where that holds another type of value. */
async function read<T>(
  { runner, keyPrefix }: KeyScan,
  id: string,
  { verb, args: [part, ...rest] }: Command,
): Promise<T | undefined> {
  try {
    const args = [keyOf(keyPrefix, part as DataPart, id), ...rest];
    return (await runner.read(nameOf(id), { verb, args })) as T;
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === "wrong_type") {
      return undefined;
    }
    throw error;
  }
}

async function eraseBy(
  { runner, keyPrefix }: KeyScan,
  id: string,
  { script, part, args }: { readonly script: Script; readonly part: DataPart; readonly args: readonly string[] },
): Promise<string> {
  const keys = [keyOf(keyPrefix, part, id)];
  const [word, existed = "0"] = (await runner.run(nameOf(id), { script, keys, args, writes: true })) as string[];
  return word === "GONE" ? existed : word!;
}

function command(
  { runner, keyPrefix }: KeyScan,
  id: string,
  verb: "exists" | "unlink",
  part: DataPart,
): Promise<unknown> {
  const key = keyOf(keyPrefix, part, id);
  return runner.command(nameOf(id), { verb, args: [key] }, [key]);
}

function textOf({ owner, isNamelessOwn, guardMs, isCleared }: OthersErasure): string {
  return JSON.stringify({ owner, isNamelessOwn, guardMs, isCleared });
}

function nameOf(sessionId: string, operation = "erase"): CallName {
  return { operation, sessionId };
}
