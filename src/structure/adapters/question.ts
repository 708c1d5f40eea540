import type { BaseMessage } from "@langchain/core/messages";
import type { Block } from "../../messages/content.js";
import { fieldsOf, isRecord } from "../../messages/values.js";
import type { Adapter } from "./adapter.js";
import { formedContent, withForm } from "./blocks.js";
import { imageBlock, mediaIn } from "./media.js";

/** Forms of pictures that an adapter takes from the user besides `image_url`. */
const pictureTypes: Readonly<Record<Adapter, readonly string[]>> = {
  "openai-chat": [],
  "openai-responses": ["input_image"],
  anthropic: ["image"],
  google: ["image", "inlineData", "fileData", "media"],
  "google-genai": ["image", "media"],
  mistral: [],
  bedrock: ["image"],
  deepseek: [],
  neutral: ["image", "inlineData", "fileData", "media", "input_image"],
};

/** A user's message whose pictures are `image_url`, which every adapter takes, where this one knows no other form. */
export function questionForm(adapter: Adapter, message: BaseMessage): BaseMessage {
  const { content } = message as { content: unknown };
  if (!Array.isArray(content) || fieldsOf(message.response_metadata)["output_version"] === "v1") {
    return message;
  }
  const formed = formedContent(content, (block) => [pictureForm(adapter, block)]);
  return formed === content ? message : withForm(message, { content: Array.isArray(formed) ? formed : content });
}

function pictureForm(adapter: Adapter, block: Block): Block {
  const isStandard = typeof block["source_type"] === "string" || isRecord(block["image"]);
  if (block.type === "image_url" || isStandard || pictureTypes[adapter].includes(block.type)) {
    return block;
  }
  const media = mediaIn(block);
  return media?.kind === "image" ? (imageBlock(media) ?? block) : block;
}
