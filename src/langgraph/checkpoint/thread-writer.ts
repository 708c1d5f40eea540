import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { inTime, maxTries } from "../../base/bounds.js";
import { timeoutError } from "../../store/redis/errors.js";
import type { KnownPlace } from "./config.js";
import { encodeRecord, type EncodedRecord } from "./encode-record.js";
import { type KnownThread, callOf, putCalls, type KnownItems, type ThreadStore } from "./thread-store.js";
import type { Segment } from "./split-value.js";
import { isTextItem, memberOf, recordTail, type RecordHeader, tooLargeItem } from "../../store/redis/thread-records.js";
import type { MemoryEventHandler } from "../../base/events.js";
import type { SealedTexts } from "../../store/sealed/sealed-texts.js";
import type { ThreadReader } from "./thread-reader.js";

/** A record that is to be written. */
interface PlannedRecord extends Omit<RecordHeader, "ranges">, KnownPlace {
  readonly kind: "checkpoint" | "writes";
  /** The record's text, by parts; taken at the moment of the call. */
  readonly segments: Promise<readonly Segment[]>;
  readonly serde: SerializerProtocol;
  readonly owner: string | undefined;
}

/** The parts of a writer. */
interface WriterSetting extends SaverParts {
  readonly commandTimeout: number;
  readonly maxItemBytes: number;
}

/**
 * Writes records; those of one thread sequentially, because later ones reference items of earlier ones.
 *
 * A record references the items that this process knows. If it knows nothing of the thread, it reads first; if others
 * changed the items since, it reads and writes again, and at last stores a record that references none but its own.
 */
export class ThreadWriter {
  readonly #setting: WriterSetting;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(setting: WriterSetting) {
    this.#setting = setting;
  }

  async write(planned: PlannedRecord): Promise<void> {
    const { threadId, segments } = planned;
    const before = this.#last.get(threadId);
    // If it fails while the write before is awaited, nobody listens yet.
    segments.catch(() => undefined);
    const written = (async () => {
      if (before !== undefined) {
        await this.#within(before, planned);
      }
      await this.#write(planned, await segments);
    })();
    const ended = written.catch(() => undefined);
    this.#last.set(threadId, ended);
    try {
      await written;
    } finally {
      if (this.#last.get(threadId) === ended) {
        this.#last.delete(threadId);
      }
    }
  }

  /** Resolves when the writes of a thread so far have ended, at most after the time of a call: reads show them then. */
  async settled(threadId: string): Promise<void> {
    const last = this.#last.get(threadId);
    if (last !== undefined) {
      await this.#within(last, { kind: "writes", threadId }).catch(() => undefined);
    }
  }

  /** Waits for the write before, as long as a call may take. */
  async #within(before: Promise<unknown>, { kind, threadId }: Pick<PlannedRecord, "kind" | "threadId">): Promise<void> {
    const { commandTimeout } = this.#setting;
    await inTime(before, commandTimeout, () => {
      throw timeoutError(callOf(putCalls[kind], threadId), commandTimeout);
    });
  }

  async #write(planned: PlannedRecord, segments: readonly Segment[]): Promise<void> {
    const { threadId } = planned;
    const { store, knownItems } = this.#setting;
    const needsItems = segments.some((segment) => typeof segment !== "string");
    for (let tries = 1; ; tries += 1) {
      // Others may write faster than this process reads. A write that brings all of its items is never stale.
      const bringsAll = !needsItems || tries === maxTries.write;
      const thread = bringsAll
        ? { token: "", positions: new Map<string, number>() }
        : (knownItems.of(threadId) ?? (await this.#learn(planned)));
      const encoded = await encodeRecord(segments, thread, (text) => canonical(planned.serde, text));
      const write = await this.#sealedWrite(planned, encoded);
      const expected = encoded.namesStored ? thread.token : undefined;
      const written = await store.write({ ...write, expected, owner: planned.owner }).catch((error: unknown) => {
        // Its outcome is not known: another call reads first.
        knownItems.forget(threadId);
        throw error;
      });
      if (written !== "STALE") {
        knownItems.noteWrite(threadId, { ...written, digests: encoded.digests });
        return;
      }
      knownItems.forget(threadId);
    }
  }

  async #sealedWrite(planned: PlannedRecord, { text, ranges, items }: EncodedRecord) {
    const { kind, threadId, ns, id, needs, parent } = planned;
    const member = memberOf(ns, id);
    const { key, seal } = await this.#setting.sealed.sealer(threadId);
    const tail = recordTail({ ranges, ...(needs !== undefined && { needs }), parent }, seal(text, kind, member));
    const sealed = items.map((item) => (isTextItem(item) ? seal(item, "item", "") : item));
    this.#checkSizes(planned, [tail, ...sealed]);
    return { kind, threadId, member, tail, items: sealed, key, isFirst: parent === undefined };
  }

  #checkSizes({ kind, threadId }: PlannedRecord, texts: readonly string[]): void {
    const { maxItemBytes } = this.#setting;
    for (const text of texts) {
      // A character takes at most three bytes.
      const bytes = 3 * text.length <= maxItemBytes ? 0 : Buffer.byteLength(text);
      if (bytes > maxItemBytes) {
        throw tooLargeItem(putCalls[kind], threadId, bytes, maxItemBytes);
      }
    }
  }

  /** Reads what the thread holds of this checkpoint, of its parent, or else of the newest one. */
  async #learn({ kind, threadId, ns, id, parent }: PlannedRecord): Promise<KnownThread> {
    const { store, knownItems, readerOf } = this.#setting;
    const ids = [id, ...(parent === undefined ? [] : [parent]), ""];
    const { token, items } = await store.read(threadId, ns, ids, putCalls[kind]);
    return knownItems.noteRead(threadId, token, await readerOf(threadId).openItems(items));
  }
}

/** The form that a text has when what it says was read once and is written again; as it is where it cannot be read. */
async function canonical(serde: SerializerProtocol, text: string): Promise<string> {
  try {
    const [type, data] = await serde.dumpsTyped(await serde.loadsTyped("json", text));
    // Bytes by themselves are dumped as they are, which is no JSON.
    return type === "json" ? Buffer.from(data).toString("utf8") : text;
  } catch {
    return text;
  }
}

/** The parts of a saver that its calls share. */
export interface SaverParts {
  readonly store: ThreadStore;
  readonly sealed: SealedTexts;
  readonly knownItems: KnownItems;
  readonly readerOf: (threadId: string) => ThreadReader;
  readonly onEvent: MemoryEventHandler | undefined;
}
