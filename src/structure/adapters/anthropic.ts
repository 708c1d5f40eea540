import type { BaseMessage } from "@langchain/core/messages";
import { callsOf, isCompaction, nativeBlock } from "../../messages/calls.js";
import type { Block } from "../../messages/content.js";
import { isCallBlock } from "../../messages/copies/call-places.js";
import { isThought, thoughtIn } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf, isRecord } from "../../messages/values.js";
import type { AnswerForm } from "./adapter.js";
import {
  blockList,
  formedContent,
  isMarked,
  isText,
  plainBlock,
  unmarked,
  withForm,
  withoutForgottenCalls,
} from "./blocks.js";
import { mayComeFrom } from "./origin.js";
import { plainAnswer } from "./plain.js";

/** Blocks of Anthropic's own tools that ChatAnthropic sends. */
const stepTypes = new Set<string>([
  "server_tool_use",
  "web_search_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "tool_search_tool_bm25_tool_result",
  "tool_search_tool_regex_tool_result",
]);

/**
 * The Messages API, through ChatAnthropic: signed thoughts of Anthropic, calls as `tool_use`, and steps of Anthropic's
 * own tools with their results. Standard content stays if the adapter can read all of it.
 */
export const anthropicAnswer: AnswerForm = (message) => {
  if (!mayComeFrom(message, ["anthropic"])) {
    return plainAnswer(message);
  }
  const given = blockList(message);
  if (given.some(isSignedCompaction) && given.every((block) => isText(block) || isCompaction(nativeBlock(block)))) {
    return withForm(message, withSignature(given, message));
  }
  if (isMarked(message) && isReadable(given, message)) {
    return message;
  }
  const native = isMarked(message) ? nativeBlocks(given) : given;
  const ids = new Set<unknown>(callsOf(message).map(({ id }) => id));
  const isPaired = pairsIn(native);
  const keep = (block: Block): readonly Block[] => {
    if (isCallBlock(block)) {
      return (block.type === "tool_use" && ids.has(block["id"])) || block.type === "input_json_delta" ? [block] : [];
    }
    if (isThought(block)) {
      return block.type !== "reasoning" && thoughtIn(block)!.isSigned ? [block] : [];
    }
    if (stepTypes.has(block.type)) {
      return isPaired(block) ? [block] : [];
    }
    // The citations of a streamed answer are a text block without a text.
    const isOwn = isText(block) || block["citations"] !== undefined;
    return isOwn || block.type === "text_delta" || block.type === "compaction" ? [block] : plainBlock(block);
  };
  const content = typeof message.content === "string" ? message.content : formedContent(native, keep);
  return withoutLastThought(
    withForm(withoutForgottenCalls(message), { content, response_metadata: unmarked(message) }),
  );
};

/** ChatAnthropic drops the signature of a compaction, but for one in standard content. */
function isSignedCompaction(block: Block): boolean {
  const own = nativeBlock(block);
  return isCompaction(own) && typeof own["signature"] === "string";
}

function withSignature(given: readonly Block[], { response_metadata: metadata }: BaseMessage): Fields {
  const isStandard = given.every((block) => block.type !== "compaction");
  return isStandard && fieldsOf(metadata)["output_version"] === "v1"
    ? {}
    : {
        content: given.map((block) => (block.type === "compaction" ? { type: "non_standard", value: block } : block)),
        response_metadata: { ...fieldsOf(metadata), model_provider: "anthropic", output_version: "v1" },
      };
}

/** True for standard content whose thoughts are signed and which holds every call. */
function isReadable(blocks: readonly Block[], message: BaseMessage): boolean {
  const ids = new Set(blocks.flatMap((block) => (block.type === "tool_call" ? [block["id"]] : [])));
  const calls = callsOf(message);
  return (
    ids.size === calls.length &&
    calls.every(({ id }) => ids.has(id)) &&
    blocks.every((block) => block.type !== "non_standard" && (!isThought(block) || thoughtIn(block)!.isSigned)) &&
    !isThought(blocks.at(-1)) &&
    blocks.some((block) => block.type !== "text" || block["text"] !== "")
  );
}

/** Standard content in ChatAnthropic's own form. A streamed thought has its signature in a block behind it. */
function nativeBlocks(blocks: readonly Block[]): readonly Block[] {
  const signatures = new Map<unknown, unknown>();
  for (const block of blocks) {
    const value = block.type === "non_standard" ? block["value"] : undefined;
    if (isRecord(value) && value["type"] === "thinking") {
      signatures.set(value["index"], value["signature"]);
    }
  }
  const isSignature = (value: unknown) => isRecord(value) && value["type"] === "thinking" && !("thinking" in value);
  return blocks.flatMap((block): readonly Block[] => {
    if (block.type === "non_standard") {
      return isRecord(block["value"]) && !isSignature(block["value"]) ? [block["value"] as Block] : [];
    }
    if (block.type === "reasoning") {
      const signature = block["signature"] ?? signatures.get(block["index"]);
      return [{ type: "thinking", thinking: block["reasoning"], signature } as Block];
    }
    if (block.type === "tool_call") {
      return [{ type: "tool_use", id: block["id"], name: block["name"], input: block["args"] } as Block];
    }
    return [block];
  });
}

/** A test for steps of Anthropic's own tools: each goes with its result, or not at all. */
function pairsIn(blocks: readonly Block[]): (block: Block) => boolean {
  const uses = new Set(blocks.flatMap((block) => (block.type === "server_tool_use" ? [block["id"] as unknown] : [])));
  const results = new Set(
    blocks.flatMap((block) => (stepTypes.has(block.type) ? [(block as Fields)["tool_use_id"]] : [])),
  );
  return (block) => (block.type === "server_tool_use" ? results.has(block["id"]) : uses.has(block["tool_use_id"]));
}

/** Anthropic refuses an answer that ends on a thought. */
export function withoutLastThought(message: BaseMessage): BaseMessage {
  const blocks = blockList(message);
  if (!isThought(blocks.at(-1)) || callsOf(message).length > 0) {
    return message;
  }
  const end = blocks.findLastIndex((block) => !isThought(block)) + 1;
  return withForm(message, { content: formedContent(blocks.slice(0, end), (block) => [block]) });
}
