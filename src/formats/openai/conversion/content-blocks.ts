import { type Media, mediaIn } from "../../../conversation/messages/media.js";
import { type Block, isResponsesText } from "../../../conversation/messages/content.js";
import { isContentPart } from "../message-schema.js";
import type { ContentPart } from "../message.js";

/**
 * Converts LangChain content blocks to content parts: keeps OpenAI's own parts, and translates text and media of other
 * forms. Leaves out blocks that OpenAI's format has no part for, such as reasoning.
 */
export function partsOfBlocks(blocks: readonly unknown[]): ContentPart[] {
  return blocks.flatMap((block) => partOf(block as Block) ?? []);
}

function partOf(block: Block): ContentPart | undefined {
  if (isContentPart(block)) {
    return block as unknown as ContentPart;
  }
  if (isResponsesText(block)) {
    return checked({ type: "text", text: block["text"] });
  }
  const media = mediaIn(block);
  if (media === undefined) {
    return block.type === "text-plain" ? checked({ type: "text", text: block["text"] }) : undefined;
  }
  if (typeof media.text === "string") {
    return checked({ type: "text", text: media.text });
  }
  switch (media.kind) {
    case "image":
      return imagePart(media);
    case "audio":
      return audioPart(media);
    case "file":
      return filePart(media);
    case "video":
      return undefined;
  }
}

function imagePart({ url, data, mimeType, fileId }: Media): ContentPart | undefined {
  const address = data === undefined ? url : dataUrl(data, mimeType);
  return address === undefined
    ? checked({ type: "image_file", image_file: { file_id: fileId } })
    : checked({ type: "image_url", image_url: { url: address } });
}

/** The API accepts only bytes in one of two formats; audio by URL has no part. */
function audioPart({ data, mimeType = "" }: Media): ContentPart | undefined {
  const format = mimeType === "audio/mpeg" ? "mp3" : /^audio\/(?:x-)?(wav|mp3)\b/.exec(mimeType)?.[1];
  return checked({ type: "input_audio", input_audio: { data, format } });
}

function filePart({ data, mimeType, fileId, name }: Media): ContentPart | undefined {
  if (fileId !== undefined) {
    return { type: "file", file: { file_id: fileId } };
  }
  const named = name !== undefined && { filename: name };
  return checked({ type: "file", file: { file_data: data && dataUrl(data, mimeType), ...named } });
}

function dataUrl(data: string, mimeType = ""): string {
  return `data:${mimeType};base64,${data}`;
}

function checked(part: object): ContentPart | undefined {
  return isContentPart(part) ? (part as ContentPart) : undefined;
}
