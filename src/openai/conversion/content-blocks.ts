import { isContentPart } from "../message-schema.js";
import type { ContentPart } from "../message.js";

type Block = Readonly<Record<string, unknown>>;

/**
 * Converts LangChain content blocks to content parts: keeps OpenAI's own parts and translates LangChain's standard
 * blocks (of both versions). Leaves out blocks that OpenAI's format has no part for, such as reasoning.
 */
export function partsOfBlocks(blocks: readonly unknown[]): ContentPart[] {
  return blocks.flatMap((block) => partOf(block as Block) ?? []);
}

function partOf(block: Block): ContentPart | undefined {
  if (isContentPart(block)) {
    return block as unknown as ContentPart;
  }
  switch (block["type"]) {
    case "image_url":
      return checked({ type: "image_url", image_url: { url: block["image_url"] } });
    case "image":
      return imagePart(block);
    case "audio":
      return audioPart(block);
    case "file":
      return filePart(block);
    case "text":
    case "text-plain":
      return checked({ type: "text", text: block["text"] });
    default:
      return undefined;
  }
}

function imagePart(block: Block): ContentPart | undefined {
  const url = stringOf(block["url"]) ?? dataUrlOf(block);
  return url === undefined
    ? checked({ type: "image_file", image_file: { file_id: fileIdOf(block) } })
    : checked({ type: "image_url", image_url: { url } });
}

/** The API accepts only bytes in one of two formats; audio by URL has no part. */
function audioPart(block: Block): ContentPart | undefined {
  const { mime, data } = bytesOf(block) ?? {};
  const format = mime === "audio/mpeg" ? "mp3" : /^audio\/(?:x-)?(wav|mp3)\b/.exec(mime ?? "")?.[1];
  return checked({ type: "input_audio", input_audio: { data, format } });
}

function filePart(block: Block): ContentPart | undefined {
  if (block["source_type"] === "text") {
    return checked({ type: "text", text: block["text"] });
  }
  const fileId = fileIdOf(block);
  if (fileId !== undefined) {
    return { type: "file", file: { file_id: fileId } };
  }
  const { filename, name, title } = (block["metadata"] ?? {}) as Block;
  const named = stringOf(filename) ?? stringOf(name) ?? stringOf(title);
  return checked({
    type: "file",
    file: { file_data: dataUrlOf(block), ...(named !== undefined && { filename: named }) },
  });
}

function checked(part: object): ContentPart | undefined {
  return isContentPart(part) ? (part as ContentPart) : undefined;
}

function fileIdOf(block: Block): string | undefined {
  return (
    stringOf(block["fileId"]) ??
    stringOf(block["file_id"]) ??
    (block["source_type"] === "id" ? stringOf(block["id"]) : undefined)
  );
}

function dataUrlOf(block: Block): string | undefined {
  const bytes = bytesOf(block);
  return bytes === undefined ? undefined : `data:${bytes.mime};base64,${bytes.data}`;
}

/** Returns the base64 data and the type that a block holds directly or in a data URL. */
function bytesOf(block: Block): { mime: string; data: string } | undefined {
  const mime = stringOf(block["mimeType"]) ?? stringOf(block["mime_type"]) ?? "";
  const data = stringOf(block["data"]);
  if (data !== undefined) {
    return { mime, data };
  }
  const url = stringOf(block["url"]) ?? "";
  const comma = url.indexOf(";base64,");
  return url.startsWith("data:") && comma !== -1
    ? { mime: url.slice(5, comma) || mime, data: url.slice(comma + 8) }
    : undefined;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
