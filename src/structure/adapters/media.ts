import { mediaKinds, type Block, type MediaKind } from "../../messages/content.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "../../messages/values.js";

/** A picture, a recording or a file in one of the forms of adapters. */
export interface Media {
  readonly kind: MediaKind;
  readonly mimeType: string | undefined;
  /** Base64. */
  readonly data: string | undefined;
  readonly url: string | undefined;
  /** The id that the provider gave the file. */
  readonly fileId: string | undefined;
  /** The file's name. */
  readonly name: string | undefined;
}

/** Further forms of media, which only adapters hold. */
const adapterKinds: ReadonlyMap<string, MediaKind> = new Map([
  ["document_url", "file"],
  ["inlineData", "file"],
  ["fileData", "file"],
]);

/** The media in a block; undefined for other blocks. */
export function mediaIn(block: Block): Media | undefined {
  const kind = mediaKinds.get(block.type) ?? adapterKinds.get(block.type);
  if (kind === undefined) {
    return undefined;
  }
  const held = fieldsIn(block);
  const url = firstText(held, ["url", "fileUri", "file_data", "file_url"]);
  const inUrl = url === undefined ? null : /^data:([^;,]*);base64,(.*)$/s.exec(url);
  const mimeType = inUrl?.[1] ?? mimeTypeIn(held);
  const [family] = (mimeType ?? "").split("/");
  return {
    kind: kind === "file" && (family === "image" || family === "audio" || family === "video") ? family : kind,
    mimeType,
    data: inUrl?.[2] ?? base64In(held["data"]),
    url: inUrl === null ? url : undefined,
    fileId: firstText(held, ["file_id", "fileId"]) ?? (held["source_type"] === "id" ? stringIn(held["id"]) : undefined),
    name: firstText({ ...fieldsOf(block["metadata"]), ...held }, ["filename", "name", "title"]),
  };
}

function firstText(held: Fields, keys: readonly string[]): string | undefined {
  return keys.map((key) => stringIn(held[key])).find((text) => text !== undefined);
}

function base64In(data: unknown): string | undefined {
  return data instanceof Uint8Array ? Buffer.from(data).toString("base64") : stringIn(data);
}

const audioTypes: ReadonlyMap<unknown, string> = new Map([
  ["wav", "audio/wav"],
  ["mp3", "audio/mpeg"],
]);

function mimeTypeIn(held: Fields): string | undefined {
  return firstText(held, ["mimeType", "mime_type", "media_type"]) ?? audioTypes.get(held["format"]);
}

/** The record that holds the data: the block itself, or one inside it. */
function fieldsIn(block: Block): Fields {
  const { image_url: image, source, inlineData, fileData, input_audio: recording, file, audio } = block as Fields;
  if (typeof image === "string") {
    return { url: image };
  }
  return fieldsOf([image, source, inlineData, fileData, recording, file, audio].find(isRecord) ?? block);
}

/** A note in the place of media that an adapter or a provider does not take. */
export function mediaLeftOut({ kind }: Media): Block {
  return { type: "text", text: `(${kind} left out)` } as Block;
}

/** A picture in the form that every adapter takes from the user; undefined where nothing holds it. */
export function imageBlock({ kind, data, mimeType, url }: Media): Block | undefined {
  const address = data === undefined ? url : `data:${mimeType ?? "image/png"};base64,${data}`;
  return kind !== "image" || address === undefined
    ? undefined
    : ({ type: "image_url", image_url: { url: address } } as unknown as Block);
}
