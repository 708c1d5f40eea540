import { type Fields, fieldsIn, isBlank, isObject, textIn } from "../json.js";
import type { AnthropicFindings } from "./sources.js";

const userBlocks = ["text", "image", "document", "search_result", "tool_result", "container_upload"];
const assistantBlocks = [
  "text",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "compaction",
];
const blocksOf: Readonly<Record<string, readonly string[]>> = {
  user: userBlocks,
  assistant: assistantBlocks,
  system: ["text"],
};

/** A block of content, where it stands, and what the service calls that place. */
export interface BlockPlace {
  readonly role: string;
  readonly path: string;
  readonly name: string;
  readonly findings: AnthropicFindings;
}

/** Checks one block of content by itself. */
export function checkBlock(block: Fields, place: BlockPlace): void {
  const { role, path, name, findings } = place;
  const type = textIn(block["type"]) ?? "";
  if (!blocksOf[role]!.includes(type)) {
    findings.add("block-type", `${path}.type`, `${name}: Input tag '${type}' does not match any of the expected tags`);
    return;
  }
  if (type === "text" && typeof block["text"] !== "string") {
    findings.add("block-form", `${path}.text`, `${name}.text.text: Field required`);
  } else if (type === "text" && isBlank(block["text"])) {
    const text = block["text"] === "" ? "be non-empty" : "contain non-whitespace text";
    findings.add("blank-text", `${path}.text`, `messages: text content blocks must ${text}`);
  } else if (type === "thinking" && typeof block["thinking"] !== "string") {
    findings.add("block-form", `${path}.thinking`, `${name}.thinking.thinking: Field required`);
  } else if (type === "tool_use" || type === "server_tool_use") {
    checkCall(block, { ...place, name: `${name}.${type}` });
  } else if (type === "image" || type === "document") {
    checkSource(block, place);
  } else if (type === "tool_result") {
    checkResult(block, place);
  }
}

function checkCall({ id, name: tool, input }: Fields, { path, name, findings }: BlockPlace): void {
  if (typeof id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(id)) {
    findings.add("call-id", `${path}.id`, `${name}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  }
  if (typeof tool !== "string" || !/^[a-zA-Z0-9_-]{1,200}$/.test(tool)) {
    findings.add("tool-name", `${path}.name`, `${name}.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`);
  }
  if (!isObject(input)) {
    findings.add("block-form", `${path}.input`, `${name}.input: Input should be a valid dictionary`);
  }
}

const mediaTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function checkSource(block: Fields, { path, name, findings }: BlockPlace): void {
  const { type, data, url, file_id: file, media_type: media } = fieldsIn(block["source"]);
  const known = [data, url, file, fieldsIn(block["source"])["content"]].some((value) => value !== undefined);
  if (typeof type !== "string" || !known) {
    findings.add("block-form", `${path}.source`, `${name}.${String(block["type"])}.source: Field required`);
  } else if (block["type"] === "image" && type === "base64" && !mediaTypes.includes(String(media))) {
    const expected = "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'";
    findings.add("block-form", `${path}.source.media_type`, `${name}.image.source.base64.media_type: ${expected}`);
  }
}

function checkResult(block: Fields, { path, name, findings }: BlockPlace): void {
  const { content } = block;
  if (typeof block["tool_use_id"] !== "string") {
    findings.add("block-form", `${path}.tool_use_id`, `${name}.tool_result.tool_use_id: Field required`);
  }
  if (content !== undefined && typeof content !== "string" && !Array.isArray(content)) {
    findings.add("block-form", `${path}.content`, `${name}.tool_result.content: Input should be a valid list`);
  }
  const parts = Array.isArray(content) ? content.map(fieldsIn) : [];
  parts.forEach((part, at) => {
    const type = String(part["type"]);
    if (!["text", "image", "document", "search_result", "tool_reference"].includes(type)) {
      const text = `Input tag '${type}' does not match any of the expected tags`;
      findings.add("block-type", `${path}.content[${at}]`, `${name}.tool_result.content.${at}: ${text}`);
    }
  });
}
