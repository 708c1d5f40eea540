import { imageBlock, mediaIn } from "../../../conversation/messages/media.js";
import { type Block, isResponsesText } from "../../../conversation/messages/content.js";
import { audioPart, filePart } from "../../../conversation/messages/media-parts.js";
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
  const { fileId } = media;
  const image = () => imageBlock(media) ?? { type: "image_file", image_file: { file_id: fileId } };
  const part = media.kind === "image" ? image() : (audioPart(media) ?? filePart(media));
  return part && checked(part);
}

function checked(part: object): ContentPart | undefined {
  return isContentPart(part) ? (part as ContentPart) : undefined;
}
