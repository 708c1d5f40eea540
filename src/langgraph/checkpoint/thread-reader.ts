import type { CheckpointMetadata, CheckpointTuple, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { MemoryError } from "../../base/errors.js";
import { configOf, parentConfigOf } from "./config.js";
import { positionsIn } from "./split-value.js";
import { reviveValue } from "./revive-value.js";
import type { SealedTexts } from "../../store/sealed/sealed-texts.js";
import {
  parseRecord,
  placeOf,
  writeRecords,
  corruptCheckpoint,
  damagedCheckpoint,
} from "../../store/redis/thread-records.js";
import type { StoredRecord } from "../../store/redis/thread-records.js";
import type { Items, StoredCheckpoint } from "./thread-store.js";

/** The content of a checkpoint's record. */
export interface CheckpointJson {
  /** Version, time, versions of channels. */
  readonly c: Pick<CheckpointTuple["checkpoint"], "v" | "ts" | "channel_versions" | "versions_seen">;
  readonly d: Readonly<Record<string, unknown>>;
  readonly m: unknown;
}

/** A write of a task as it is stored: its place among the task's writes, the channel, and the value as JSON. */
interface StoredWrite {
  readonly taskId: string;
  readonly taskPath: string;
  /** Below 0 for what LangGraph keeps one of: errors, interrupts, what resumes. */
  readonly index: number;
  readonly channel: string;
  readonly json: unknown;
  /** The base of the record. */
  readonly base: number;
}

/** A checkpoint whose record was opened and parsed. */
export interface OpenedCheckpoint {
  readonly member: string;
  readonly parent: string;
  readonly base: number;
  readonly json: CheckpointJson;
  readonly writes: readonly StoredWrite[];
  /** The positions that its records name in plain, for scripts; each with the record's base. */
  readonly named: readonly Pick<StoredRecord, "base" | "ranges">[];
}

/** For who reads no values of the serializer's own types: to read them would take LangGraph's package. */
export const opaqueSerializer: SerializerProtocol = {
  dumpsTyped: () => Promise.reject(new Error("Nothing is written here.")),
  loadsTyped: async (type, data) => (type === "json" && typeof data === "string" ? (JSON.parse(data) as object) : {}),
};

/** Reads what is stored of one thread. */
export class ThreadReader {
  readonly #threadId: string;
  readonly #serde: SerializerProtocol;
  readonly #sealed: SealedTexts;

  constructor(threadId: string, serde: SerializerProtocol, sealed: SealedTexts) {
    this.#threadId = threadId;
    this.#serde = serde;
    this.#sealed = sealed;
  }

  /**
   * Parses the records of a checkpoint.
   *
   * @throws RecordError `corrupt` that names it; EncryptionError.
   */
  async open({ member, record, writes }: StoredCheckpoint): Promise<OpenedCheckpoint> {
    const { id } = placeOf(member);
    const own = parseRecord(record ?? "");
    const others = writeRecords(writes).map(parseRecord);
    // Who walks back from one that is its own parent finds no end.
    if (own === undefined || own.parent === id || others.includes(undefined)) {
      throw corruptCheckpoint(this.#threadId, id);
    }
    const lines = others.map((other) => other!);
    const named = [own, ...lines];
    const open = await this.#sealed.opener(
      this.#threadId,
      named.map(({ text }) => text),
    );
    const plain = open(own.text, "checkpoint", member);
    const opened = lines.map((line) => ({ ...line, text: open(line.text, "writes", member) }));
    try {
      const json = JSON.parse(plain) as CheckpointJson;
      const { c, d } = json;
      if (typeof c !== "object" || c === null || typeof d !== "object" || d === null) {
        throw new TypeError("The record has no values.");
      }
      return { member, parent: own.parent, base: own.base, json, writes: opened.flatMap(writesIn), named };
    } catch (error) {
      throw corruptCheckpoint(this.#threadId, id, error);
    }
  }

  /** The plain texts of items. */
  async openItems(items: Items): Promise<Items> {
    const open = await this.#sealed.opener(this.#threadId, items.values());
    return new Map([...items].map(([position, text]) => [position, open(text, "item", "")]));
  }

  /** Makes a value of JSON in the record of the checkpoint. */
  async value(
    json: unknown,
    { member, base }: { readonly member: string; readonly base: number },
    items: Items,
  ): Promise<unknown> {
    try {
      const textAt = this.#textOf(member, items);
      return await reviveValue(json, base, { serde: this.#serde, textAt });
    } catch (error) {
      // A serializer refuses what it did not write by errors of any kind.
      throw MemoryError.isInstance(error) ? error : corruptCheckpoint(this.#threadId, placeOf(member).id, error);
    }
  }

  async tuple(opened: OpenedCheckpoint, items: Items): Promise<CheckpointTuple> {
    const { member, parent, json, named } = opened;
    const { ns, id } = placeOf(member);
    const textAt = this.#textOf(member, items);
    // Scripts go by these: items of other checkpoints may hide that one of them is missing.
    for (const { ranges, base } of named) {
      for (const position of positionsIn(ranges, base, textAt)) {
        textAt(position);
      }
    }
    const { v, ts, channel_versions, versions_seen } = json.c;
    const [values, metadata, pendingWrites] = await Promise.all([
      this.value(json.d, opened, items),
      this.metadata(opened, items),
      this.#pendingWrites(opened, items),
    ]);
    const channel_values = values as CheckpointTuple["checkpoint"]["channel_values"];
    const threadId = this.#threadId;
    return {
      config: configOf({ threadId, ns, id }),
      checkpoint: { v, id, ts, channel_values, channel_versions, versions_seen },
      metadata,
      pendingWrites,
      ...(parent !== "" && { parentConfig: parentConfigOf({ threadId, ns, id: parent }) }),
    };
  }

  async metadata(opened: OpenedCheckpoint, items: Items): Promise<CheckpointMetadata> {
    return (await this.value(opened.json.m, opened, items)) as CheckpointMetadata;
  }

  /** The pending writes of a checkpoint, in order. */
  async #pendingWrites(opened: OpenedCheckpoint, items: Items) {
    const { member } = opened;
    return Promise.all(
      writesInOrder(opened.writes).map(async ({ taskId, channel, json, base }): Promise<[string, string, unknown]> => {
        return [taskId, channel, await this.value(json, { member, base }, items)];
      }),
    );
  }

  #textOf(member: string, items: Items): (position: number) => string {
    return (position) => {
      const text = items.get(position);
      if (text === undefined || text === "") {
        throw damagedCheckpoint(this.#threadId, placeOf(member).id);
      }
      return text;
    };
  }
}

function writesIn({ text, base }: { readonly text: string; readonly base: number }): StoredWrite[] {
  const [taskId, taskPath, writes] = JSON.parse(text) as [string, string, [number, string, unknown][]];
  return writes.map(([index, channel, json]) => ({ taskId, taskPath, index, channel, json, base }));
}

/**
 * The writes that count, in the order in which LangGraph applies them. The first of two in one place counts, or below 0
 * the last.
 */
function writesInOrder(stored: readonly StoredWrite[]): StoredWrite[] {
  const writes = new Map<string, StoredWrite>();
  for (const write of stored) {
    const place = JSON.stringify([write.taskId, write.index]);
    if (write.index < 0 || !writes.has(place)) {
      writes.set(place, write);
    }
  }
  return [...writes.values()].sort(
    (a, b) => compareText(a.taskPath, b.taskPath) || compareText(a.taskId, b.taskId) || a.index - b.index,
  );
}

/** By code points, as Python compares, which sorts the same tasks. */
function compareText(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = left[index]!.codePointAt(0)! - right[index]!.codePointAt(0)!;
    if (difference !== 0) {
      return difference;
    }
  }
  return left.length - right.length;
}
