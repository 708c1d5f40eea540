import { damagedThread, threadLabel } from "../../store/redis/thread-errors.js";
import { isSealedText } from "../../store/redis/thread-records.js";
import {
  isWhole,
  withTexts,
  writeThread,
  type StoredThread,
  type WholeThread,
} from "../../store/redis/whole-thread.js";
import { ownedPieces, type FoundPiece } from "../../store/redis-lists/kinds.js";
import { wireOf, type RedisWire } from "../../store/redis-store/redis-session-store.js";
import type { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import { checkSessionId } from "../../store/contract/session-ref.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { badLine, fieldsOf, orBadLine, otherContent, type ExportLine } from "./lines.js";

/** The connection and the keys of a store, for data beside its sessions; no connection for a store in memory. */
export function besideOf(store: SessionStore): { readonly wire?: RedisWire; readonly ring?: KeyRing } {
  const parts = sealedParts(store);
  const wire = wireOf(parts?.store ?? store);
  return { ...(wire && { wire }), ...(parts && { ring: parts.keys.ring }) };
}

/** A thread or an item to export: its line, or why it cannot be read. */
export interface ExportedData extends FoundPiece {
  readonly line?: string;
  readonly error?: unknown;
}

/** Exports the threads of an owner and of the given sessions of theirs, or without an owner all; a line each. */
export async function* exportThreads(
  store: SessionStore,
  owner: string | undefined,
  sessions: ReadonlySet<string>,
): AsyncGenerator<ExportedData> {
  const { wire, ring } = besideOf(store);
  for await (const { kind, id, read } of wire === undefined ? [] : ownedPieces(wire, owner, sessions)) {
    try {
      const thread = await read();
      yield* thread === undefined ? [] : [{ kind, id, line: await threadLine(id, thread, ring) }];
    } catch (error) {
      yield { kind, id, error };
    }
  }
}

/** The line of a thread, whose texts are opened. @throws StoreError `damaged`; EncryptionError. */
async function threadLine(threadId: string, thread: StoredThread, ring: KeyRing | undefined): Promise<string> {
  if (!isWhole(thread)) {
    throw damagedThread("export", threadId);
  }
  const sealed = new SealedTexts(ring, "thread");
  const { items, fields, members, left } = await withTexts(thread, async (text, kind, name) =>
    (await sealed.opener(threadId, [text], thread.keys ?? ""))(text, kind, name),
  );
  return JSON.stringify({
    ...{ type: "thread", threadId, expiresAt: left === undefined ? undefined : Date.now() + left },
    ...{ fields: Object.fromEntries(fields), items, members },
  });
}

/** Target of an imported thread or item. */
export interface DataTarget {
  readonly wire: RedisWire;
  /** Time to live in milliseconds; undefined for the exported expiry. */
  readonly ttlMs: number | undefined;
  /** The keys that seal it; undefined for plain text. */
  readonly ring: KeyRing | undefined;
}

/** Outcome of the line of a thread or an item. */
export type ImportedData = "imported" | "unchanged" | "expired";

/**
 * Imports the line of a thread.
 *
 * @throws RecordError `corrupt`; ConflictError `exists` if there is another thread of this id; StoreError `erased`.
 */
export async function importThread(line: ExportLine, { wire, ttlMs, ring }: DataTarget): Promise<ImportedData> {
  const { threadId, expiresAt, ...rest } = fieldsOf("thread", line);
  const plain: WholeThread = { ...rest, fields: Object.entries(rest.fields) };
  orBadLine(line.number, () => checkSessionId(threadId));
  if (!isWhole(plain) || rest.fields["token"] === undefined || rest.fields["erased"] !== undefined) {
    throw badLine(line.number, "the thread is not whole");
  }
  const ttl = ttlMs ?? (expiresAt === undefined ? undefined : expiresAt - Date.now());
  if (ttl !== undefined && ttl <= 0) {
    return "expired";
  }
  const { key, seal } = await new SealedTexts(ring, "thread").sealer(threadId);
  const thread = await withTexts(plain, async (text, kind, name) => {
    if (isSealedText(text)) {
      throw badLine(line.number, "the thread is encrypted");
    }
    return seal(text, kind, name);
  });
  const word = await writeThread(wire, threadId, {
    thread: { ...thread, keys: key && `${key}\n` },
    ...{ ttl, operation: "import" },
  });
  if (word === "EXISTS") {
    throw otherContent(`There is a ${threadLabel(threadId)} with other content`, threadId);
  }
  return word === "OK" ? "imported" : "unchanged";
}
