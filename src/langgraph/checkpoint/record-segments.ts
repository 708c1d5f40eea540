import type { Checkpoint, CheckpointMetadata, PendingWrite, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { RecordError } from "../../base/errors.js";
import { referenceKey, splitValue, type Segment, type SplitSetting } from "./split-value.js";

/** How values are written. */
export interface ValueSetting {
  readonly serde: SerializerProtocol;
  /** True for upstream's own serializer, whose JSON can be taken apart; values of another are stored whole. */
  readonly isPlain: boolean;
}

/** A checkpoint of which some channels are stored. */
export interface CheckpointParts {
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
