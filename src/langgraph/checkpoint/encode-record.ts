import type { Checkpoint, CheckpointMetadata, PendingWrite, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { digestOf, type KnownThread } from "./thread-store.js";
import { rangesText, referenceKey, type Segment, splitValue, type SplitSetting } from "./split-value.js";
import { RecordError } from "../../base/errors.js";

/** A record's text and its references. */
export interface EncodedRecord {
  /** With references in it. */
  readonly text: string;
  /** The positions that it names, in plain. */
  readonly ranges: string;
  readonly items: readonly string[];
  /** For each item, the digests under which its text may come again. */
  readonly digests: readonly (readonly string[])[];
  /** True if it names positions that were stored before: they must still be valid. */
  readonly namesStored: boolean;
}

/** The canonical form of a text, because one message may be serialized in several ways. */
type Canonical = (text: string) => Promise<string>;

/** Gives each long text of a record its position, and writes the record with these. */
export async function encodeRecord(
  segments: readonly Segment[],
  thread: KnownThread,
  canonical: Canonical,
): Promise<EncodedRecord> {
  const places = new ItemPlaces(thread);
  for (const segment of segments) {
    if (typeof segment !== "string") {
      for (const text of "item" in segment ? [segment.item] : segment.list) {
        if (!places.has(text)) {
          places.add(text, text.includes('"lc":') ? await canonical(text) : text);
        }
      }
    }
  }
  const ranges = new Set<string>();
  const refer = (name: string, positions: readonly number[]): string => {
    const text = rangesText(positions, (group) => places.has(group) ?? places.add(group, group));
    ranges.add(text);
    return `{"${referenceKey}":{"${name}":"${text}"}}`;
  };
  const written = segments.map((segment) => {
    if (typeof segment === "string") {
      return segment;
    }
    if ("item" in segment) {
      return refer("i", [places.has(segment.item)!]);
    }
    const positions = segment.list.map((text) => places.has(text)!);
    return refer("l", positions);
  });
  return { text: written.join(""), ranges: [...ranges].filter((text) => text !== "").join(","), ...places.result() };
}

/** The positions of the texts of one record. */
class ItemPlaces {
  readonly #thread: KnownThread;
  readonly #positions = new Map<string, number>();
  readonly #items: string[] = [];
  readonly #digests: string[][] = [];
  #namesStored = false;

  constructor(thread: KnownThread) {
    this.#thread = thread;
  }

  has(text: string): number | undefined {
    const position = this.#positions.get(text);
    return position ?? this.#stored(text, digestOf(text));
  }

  /** Gives a text a position: that of its canonical form, or a new one. */
  add(text: string, canonical: string): number {
    const names = [...new Set([digestOf(text), digestOf(canonical)])];
    let position = this.#positions.get(canonical) ?? this.#stored(canonical, names.at(-1)!);
    if (position === undefined) {
      this.#items.push(canonical);
      this.#digests.push(names);
      position = -this.#items.length;
    } else if (position >= 0) {
      this.#thread.positions.set(names[0]!, position);
    } else {
      this.#digests[-1 - position]!.push(names[0]!);
    }
    this.#positions.set(canonical, position);
    this.#positions.set(text, position);
    return position;
  }

  result() {
    return { items: this.#items, digests: this.#digests, namesStored: this.#namesStored };
  }

  #stored(text: string, digest: string): number | undefined {
    const position = this.#thread.positions.get(digest);
    if (position !== undefined) {
      this.#positions.set(text, position);
      this.#namesStored = true;
    }
    return position;
  }
}

/** How values are written. */
export interface ValueSetting {
  readonly serde: SerializerProtocol;
  /** True for upstream's own serializer, whose JSON can be taken apart; values of another are stored whole. */
  readonly isPlain: boolean;
}

/** A checkpoint of which some channels are stored. */
interface CheckpointParts {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly channels: readonly string[];
}

/** The record of a checkpoint in segments. Serializes all values before the first await. */
export async function checkpointSegments(
  { checkpoint, metadata, channels }: CheckpointParts,
  setting: ValueSetting,
): Promise<readonly Segment[]> {
  const { v, ts, channel_versions, versions_seen, channel_values } = checkpoint;
  const fields = JSON.stringify({ v, ts, channel_versions, versions_seen });
  const values = channels.map((name) => valueSegments(channel_values[name], name, setting, { isWrite: false }));
  const [about, ...written] = await Promise.all([
    valueSegments(metadata, "metadata", setting, { isWrite: false }),
    ...values,
  ]);
  const named = written.flatMap((segments, index) => [
    `${index === 0 ? "" : ","}${JSON.stringify(channels[index])}:`,
    ...segments,
  ]);
  return [`{"c":${fields},"d":{`, ...named, '},"m":', ...about, "}"];
}

/** The writes of one task in segments. Serializes all values before the first await. */
export async function writesSegments(
  {
    writes,
    taskId,
    taskPath,
  }: { readonly writes: readonly PendingWrite[]; readonly taskId: string; readonly taskPath: string },
  indexOf: (channel: string, place: number) => number,
  setting: ValueSetting,
): Promise<readonly Segment[]> {
  const dumped = writes.map(([channel, value]) => valueSegments(value, channel, setting, { isWrite: true }));
  const values = await Promise.all(dumped);
  const written = values.flatMap((segments, place) => {
    const channel = writes[place]![0];
    return [`${place === 0 ? "" : ","}[${indexOf(channel, place)},${JSON.stringify(channel)},`, ...segments, "]"];
  });
  return [`[${JSON.stringify(taskId)},${JSON.stringify(taskPath)},[`, ...written, "]]"];
}

async function valueSegments(
  value: unknown,
  name: string,
  { serde, isPlain }: ValueSetting,
  setting: SplitSetting,
): Promise<readonly Segment[]> {
  const { type, data } = await dumpValue(serde, value, name);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (isPlain && type === "json") {
    return splitValue(JSON.parse(bytes.toString("utf8")), setting);
  }
  return [
    `{"${referenceKey}":{"t":${JSON.stringify(type)},"v":`,
    ...splitValue(bytes.toString("base64"), setting),
    "}}",
  ];
}

/** A value as the serializer wrote it, at the moment of the call. */
interface DumpedValue {
  readonly type: string;
  readonly data: Uint8Array;
}

/**
 * Serializes a value before the first await, so that later mutations have no effect.
 *
 * @throws RecordError `unsupported_message` for a value that JSON cannot hold, such as a BigInt; upstream's serializer
 * would store a note about that in its place.
 */
async function dumpValue(serde: SerializerProtocol, value: unknown, name: string): Promise<DumpedValue> {
  // The serializer hands bytes on as they are.
  const taken = value instanceof Uint8Array ? new Uint8Array(value) : value;
  const [type, data] = await serde.dumpsTyped(taken);
  if (type === "json" && isNote(data) && typeof value !== "string") {
    const reason = "holds something that the serializer cannot write, such as a BigInt; nothing was stored";
    throw new RecordError(`The value of "${name}" ${reason}.`, { code: "unsupported_message" });
  }
  return { type, data };
}

const note = '"[unable to serialize';

function isNote(data: Uint8Array): boolean {
  return data.length < 200 && Buffer.from(data).toString("utf8").startsWith(note);
}
