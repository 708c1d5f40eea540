import { textBlock, type Block } from "./content.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "./message.js";

/** Kind of the media in a block. */
export type MediaKind = "image" | "audio" | "video" | "file";

/** Kinds of media by the type of their block, in the forms of LangChain, OpenAI, Anthropic, Google and Mistral. */
export const mediaKinds: ReadonlyMap<unknown, MediaKind> = new Map<unknown, MediaKind>([
  ["image", "image"],
  ["image_url", "image"],
  ["input_image", "image"],
  ["audio", "audio"],
  ["input_audio", "audio"],
  ["video", "video"],
  ["file", "file"],
  ["input_file", "file"],
  ["document", "file"],
  ["document_url", "file"],
  ["media", "file"],
  ["inlineData", "file"],
  ["fileData", "file"],
]);

/** A picture, a recording or a file, from whichever form of content block it came. */
export interface Media {
  readonly kind: MediaKind;
  readonly mimeType: string | undefined;
  /** Base64. */
  readonly data: string | undefined;
  readonly url: string | undefined;
  /** The id that the provider gave the file. */
  readonly fileId: string | undefined;
  readonly name: string | undefined;
  /** How closely the model looks at a picture. */
  readonly detail: string | undefined;
  /** The file as text: a string, or Anthropic's list of blocks; undefined if its bytes or its place are given. */
  readonly text: unknown;
}

/** The media in a block; undefined for other blocks. */
export function mediaIn(block: Block): Media | undefined {
  const kind = mediaKinds.get(block.type);
  if (kind === undefined) {
    return undefined;
  }
  const held = fieldsIn(block);
  const data = held["type"] === "text" ? undefined : base64In(held["data"]);
  const url =
    firstText(held, ["url", "fileUri", "file_data", "file_url", "document_url"]) ??
    (data?.startsWith("data:") ? data : undefined);
  const inUrl = url === undefined ? null : /^data:([^;,]*)(?:;[^;,]*)*;base64,(.*)$/s.exec(url);
  const mimeType = inUrl?.[1] || mimeTypeIn(held);
  const metadata = fieldsOf(block["metadata"]);
  return {
    kind: familyOf(mimeType) ?? kind,
    mimeType,
    data: inUrl?.[2] ?? data,
    url: inUrl === null ? url : undefined,
    fileId: firstText(held, ["file_id", "fileId"]) ?? (held["source_type"] === "id" ? stringIn(held["id"]) : undefined),
    name: firstText({ ...metadata, ...held }, ["filename", "name", "title"]),
    detail: firstText({ ...metadata, ...block, ...held }, ["detail"]),
    text: textIn({ ...block, ...held }),
  };
}

function textIn({ type, text, data, content }: Fields): unknown {
  return text ?? (type === "text" ? data : undefined) ?? (Array.isArray(content) ? content : undefined);
}

function familyOf(mimeType = ""): MediaKind | undefined {
  const [family] = mimeType.split("/", 1);
  return family === "image" || family === "audio" || family === "video" ? family : undefined;
}

function firstText(held: Fields, keys: readonly string[]): string | undefined {
  return keys.map((key) => stringIn(held[key])).find(Boolean);
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
  return textBlock(`(${kind} left out)`);
}

/** A picture in the form that every adapter takes from the user; undefined where nothing holds it. */
export function imageBlock({ kind, data, mimeType, url }: Media): Block | undefined {
  const address = data === undefined ? url : `data:${mimeType ?? "image/png"};base64,${data}`;
  return kind !== "image" || address === undefined
    ? undefined
    : ({ type: "image_url", image_url: { url: address } } as unknown as Block);
}

const usualTypes = { image: "image/png", audio: "audio/wav", video: "video/mp4", file: "application/pdf" } as const;

/** Media in the form that both adapters of Google's take: with the data, or at an address of a known type. */
export function mediaBlock({ kind, data, mimeType, url }: Media): Block | undefined {
  if (data !== undefined) {
    return { type: "media", mimeType: mimeType ?? usualTypes[kind], data } as unknown as Block;
  }
  return url === undefined || mimeType === undefined
    ? undefined
    : ({ type: "media", mimeType, fileUri: url } as unknown as Block);
}

/** OpenAI takes the two formats alone, and no address. */
export function audioPart({ kind, data, mimeType }: Media): object | undefined {
  const format = /^audio\/(?:x-)?(wav|mp3|mpeg)\b/.exec(mimeType ?? "")?.[1];
  return kind === "audio" && data !== undefined && format !== undefined
    ? { type: "input_audio", input_audio: { data, format: format === "mpeg" ? "mp3" : format } }
    : undefined;
}

/** A file by the id that the provider gave it, or with its data; undefined where it has neither. */
export function filePart({ kind, data, mimeType, fileId, name = "file" }: Media): object | undefined {
  if (kind !== "file" || (!data && fileId === undefined)) {
    return undefined;
  }
  return {
    type: "file",
    file: !data ? { file_id: fileId } : { file_data: dataUrl(data, mimeType), filename: name },
  };
}

/** A data URL; without a type, that of a PDF. */
export function dataUrl(data: string, mimeType = "application/pdf"): string {
  return `data:${mimeType};base64,${data}`;
}
