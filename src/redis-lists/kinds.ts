import { StoreError } from "../base/errors.js";
import { fieldsOf, stringIn, valueIn } from "../messages/values.js";
import { keyOf, type DataKind, type DataPart, type NamedKey } from "../redis/data-parts.js";
import type { CallName } from "../redis/errors.js";
import { eraseRunScript, eraseSteersScript, stopWaitingScript } from "../redis/lua/later-scripts.js";
import { changeHash, changeList, resealAll, sumOf, type Resealed, type Sealing } from "../redis/reseal-texts.js";
import { scanNames, type KeyScan } from "../redis/scan-keys.js";
import type { Script } from "../redis/script.js";
import type { Command } from "../redis/script-runner.js";
import { checkItems } from "../redis/stored-items.js";
import { changedField, isTextItem } from "../redis/thread-records.js";
import { eraseThread, readThread, type StoredThread } from "../redis/whole-thread.js";

/** Entries of a run that one call reads. */
const entriesAtOnce = 500;
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
  /** Seals its texts with the current key, in one pass. */
  readonly reencrypt: ((scan: KeyScan, id: string, sealing: Sealing) => Promise<Resealed>) | LeftOut;
}

/** Every kind of data that this package keeps. A new part of a key, or a kind without an entry, does not compile. */
const kinds = {
  session: {
    owner: { none: "a scan reads it, also of a session that lost a key (scanKeys)" },
    count: { none: "its store describes each" },
    read: { none: "its store reads it in pages (exportSession)" },
    erase: { none: "erase-session.lua goes first, and says whose the rest is" },
    check: "by its reader",
    reencrypt: { none: "its store does it (reencryptSession), in Redis and in memory" },
  },
  run: {
    owner: async (scan, id) => {
      const newest = await read<readonly RunEntry[]>(scan, id, {
        verb: "xrevrange",
        args: ["run", "+", "-", "COUNT", 1],
      });
      const at = newest?.[0]?.[0].split("-")[0];
      const args = ["run", `${at}-0`, `${at}-0`];
      const begin = at === undefined ? undefined : await read<readonly RunEntry[]>(scan, id, { verb: "xrange", args });
      return stringIn(fieldsOf(valueIn(begin?.[0]?.[1][1] ?? ""))["owner"]);
    },
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
    reencrypt: async (scan, id, sealing) => ({ count: 1, sealed: 0, left: await countUnsealed(scan, id, sealing) }),
  },
  thread: {
    owner: async (scan, id) =>
      stringIn(await read<string | null>(scan, id, { verb: "hget", args: ["checkpoints", "owner"] })),
    count: async (scan, id) => {
      // One call for each key: a cluster refuses one that names a missing key of a migrating slot among others.
      const found = await Promise.all(threadParts.map((part) => command(scan, id, "exists", part)));
      const isErased = await read<number>(scan, id, { verb: "hexists", args: ["checkpoints", "erased"] });
      return found.reduce((sum: number, count) => sum + Number(count), 0) > Number(isErased ?? 0) ? 1 : 0;
    },
    read: async (scan, id) => {
      const thread = await readThread(scan, id, "export");
      return thread.fields.length + thread.items.length + thread.members.length === 0 ? undefined : thread;
    },
    erase: async (scan, id, request) => (await eraseThread(scan, nameOf(id), textOf(request)))[1] === "1",
    check: "by its reader",
    reencrypt: async ({ runner, keyPrefix }, id, { reseal }) => {
      const [hash, list] = [keyOf(keyPrefix, "checkpoints", id), keyOf(keyPrefix, "items", id)];
      const texts = { runner, name: { operation: "reencrypt", sessionId: id, subject: "thread" }, hash } as const;
      const place = { format: "thread 1", id } as const;
      const items = await changeList({ ...texts, list }, async (text) =>
        isTextItem(text) ? reseal(text, { ...place, kind: "item", name: "" }) : undefined,
      );
      const records = await changeHash(texts, (value, field) =>
        changedField(field, value, (text, kind, name) => reseal(text, { ...place, kind, name })),
      );
      return { ...sumOf(items, records), count: items.count === 0 ? 0 : 1 };
    },
  },
  lease: {
    owner: { none: "it is the session's" },
    count: { none: "it lives for the seconds of a summary" },
    read: { none: "it holds a random token" },
    erase: async (scan, id, { isNamelessOwn }) => {
      await (isNamelessOwn ? command(scan, id, "unlink", "lease") : undefined);
      return false;
    },
    check: { none: "it holds a random token" },
    reencrypt: { none: "it holds a random token" },
  },
  copy: {
    owner: { none: "a scan reads it with the copy's tag (scanKeys)" },
    count: { none: "it lives for ten minutes" },
    read: { none: "it is a part of a session that is there" },
    erase: { none: "a copy goes by its tag with its owner (dropCopy), or in ten minutes" },
    check: { none: "it becomes a session, or expires in ten minutes" },
    reencrypt: { none: "it becomes a session of the process that writes it, or expires in ten minutes" },
  },
  item: {
    owner: { none: "items belong to namespaces of the application" },
    read: { none: "items belong to namespaces of the application: search()" },
    count: async ({ runner, keyPrefix }, id) =>
      Number(await runner.read(nameOf("", "count"), { verb: "hlen", args: [keyOf(keyPrefix, "values", id)] })),
    erase: { none: "items belong to namespaces of the application: deleteNamespace()" },
    check: (scan) => checkItems(scan),
    reencrypt: async ({ runner, keyPrefix }, id, { reseal }) => {
      const name = { operation: "reencrypt", sessionId: "", subject: "store" } as const;
      return changeHash({ runner, name, hash: keyOf(keyPrefix, "values", id) }, async (record, item) => {
        const [head = ""] = /^\d+\|\d+\|\d*\|/.exec(record) ?? [];
        const text = await reseal(record.slice(head.length), { format: "item 1", id: "", kind: "", name: item });
        return text && head + text;
      });
    },
  },
  list: {
    owner: { none: "its key names it" },
    count: { none: "it lists sessions, which are counted" },
    read: { none: "it lists sessions" },
    erase: { none: "entries leave the list of the owner with the session" },
    check: { none: "a page looks at each of its sessions" },
    reencrypt: { none: "it holds ids and times" },
  },
  mailbox: {
    owner: { none: "it is a process's" },
    count: { none: "it lives as long as its process" },
    read: { none: "it holds names of runs" },
    erase: { none: "it is a process's, and ends with it" },
    check: { none: "it holds names, and lives for minutes" },
    reencrypt: { none: "it holds names, and lives for minutes" },
  },
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
      page.map(async ({ kind, id }) => {
        const { count } = entries[kind];
        const found = typeof count === "function" ? await count(scan, id) : 0;
        counts[kind] = (counts[kind] ?? 0) + found;
      }),
    );
    yield counts;
  }
}

/**
 * Seals everything of a memory but its sessions, each piece until a pass finds nothing to seal, and says of each what
 * came of it, or which error it met.
 */
export async function* reencryptOthers(
  scan: KeyScan,
  sealing: Sealing,
): AsyncGenerator<FoundPiece & (Resealed | { readonly error: unknown })> {
  for await (const page of foundPieces(scan)) {
    for (const { kind, id } of page) {
      const { reencrypt } = entries[kind];
      if (typeof reencrypt === "function") {
        const errors: unknown[] = [];
        // A text that cannot be opened does not keep the others from being sealed.
        const reseal: Sealing["reseal"] = (text, place) =>
          sealing.reseal(text, place).catch((error: unknown) => void errors.push(error));
        const done = await resealAll(() => reencrypt(scan, id, { ...sealing, reseal })).catch((error: unknown) => {
          errors.unshift(error);
        });
        yield { kind, id, ...(done === undefined || errors.length > 0 ? { error: errors[0] } : done) };
      }
    }
  }
}

/** The texts of runs, and of what was said to them, that another key sealed, or none. Streams cannot be changed. */
async function countUnsealed({ runner, keyPrefix }: KeyScan, id: string, { hasSealed }: Sealing): Promise<number> {
  const name = { operation: "reencrypt", sessionId: id };
  const steers = { verb: "lrange", args: [keyOf(keyPrefix, "run:steers", id), 1, -1] };
  const told = ((await runner.transaction(name, [steers])) as [string[]])[0].map((text) => text.replace(/^\S+ /, ""));
  let unsealed = told.filter((text) => !hasSealed(text)).length;
  for (let from = "-"; ;) {
    const page = { verb: "xrange", args: [keyOf(keyPrefix, "run", id), from, "+", "COUNT", entriesAtOnce] };
    const [entries] = (await runner.transaction(name, [page])) as [RunEntries];
    unsealed += entries.filter(([, [kind, text = ""]]) => kind === "d" && !hasSealed(text)).length;
    const last = entries.at(-1);
    if (last === undefined || entries.length < entriesAtOnce) {
      return unsealed;
    }
    from = `(${last[0]}`;
  }
}

type RunEntry = readonly [id: string, fields: readonly string[]];
type RunEntries = readonly RunEntry[];

/** The ids of found keys of which a piece names the owner itself. */
export async function idsNaming(scan: KeyScan, keys: readonly NamedKey[], owner: string): Promise<string[]> {
  const pieces = new Map(keys.map((key) => [`${key.kind} ${key.id}`, key]));
  const found = [...pieces.values()].map(async ({ kind, id }) => {
    const { owner: ownerOf } = entries[kind];
    return typeof ownerOf === "function" && (await ownerOf(scan, id)) === owner ? id : [];
  });
  return (await Promise.all(found)).flat();
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
