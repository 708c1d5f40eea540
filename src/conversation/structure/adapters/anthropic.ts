import type { BaseMessage } from "@langchain/core/messages";
import { callsOf, isCompaction, nativeBlock } from "../../messages/calls.js";
import { type Block, blockList, isStandardContent } from "../../messages/content.js";
import { withFields } from "../../messages/copies/edits.js";
import { isThought, thoughtIn } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf } from "../../messages/values.js";
import type { OwnForm } from "./adapter.js";
import { formedContent, isText, withForm } from "./blocks.js";

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

const nativeTypes = new Set<string>(["tool_use", "input_json_delta", "text_delta", "compaction"]);

/** The Messages API, through ChatAnthropic: blocks that it sends as they came, or standard content. */
export const anthropicAnswer: OwnForm = (message) => {
  const blocks = blockList(message);
  const isOnlyText = blocks.every((block) => isText(block) || isCompaction(nativeBlock(block)));
  if (isOnlyText && blocks.some(isSignedCompaction)) {
    return withForm(message, withSignature(blocks, message));
  }
  const passes = isStandardContent(message) ? isStandard(blocks, message) : isNative(blocks);
  return passes && !saysMoreBehindCalls(blocks) && !endsOnThought(message)
    ? withForm(message, { content: formedContent(message.content, withThinking) })
    : undefined;
};

/** ChatAnthropic drops the signature of a compaction, but for one in standard content. */
function isSignedCompaction(block: Block): boolean {
  const own = nativeBlock(block);
  return isCompaction(own) && typeof own["signature"] === "string";
}

function withSignature(blocks: readonly Block[], { response_metadata: metadata }: BaseMessage): Fields {
  const isInStandard = blocks.every((block) => block.type !== "compaction");
  return isInStandard && fieldsOf(metadata)["output_version"] === "v1"
    ? {}
    : {
        content: blocks.map((block) => (block.type === "compaction" ? { type: "non_standard", value: block } : block)),
        response_metadata: { ...fieldsOf(metadata), model_provider: "anthropic", output_version: "v1" },
      };
}

/** True for standard content of which ChatAnthropic sends all: signed thoughts, and every call. */
function isStandard(blocks: readonly Block[], message: BaseMessage): boolean {
  return (
    blocks.filter(({ type }) => type === "tool_call").length === callsOf(message).length &&
    blocks.every((block) => block.type !== "non_standard" && (!isThought(block) || thoughtIn(block)!.isSigned)) &&
    blocks.some((block) => block.type !== "text" || block["text"] !== "")
  );
}

/** True where all blocks are such as ChatAnthropic sends as they are. */
function isNative(blocks: readonly Block[]): boolean {
  const isPaired = pairsIn(blocks);
  return blocks.every((block) => {
    if (isThought(block)) {
      return block.type !== "reasoning" && thoughtIn(block)!.isSigned;
    }
    // The citations of a streamed answer are a text block without a text.
    const isOwn = isText(block) || block["citations"] !== undefined;
    return stepTypes.has(block.type) ? isPaired(block) : isOwn || nativeTypes.has(block.type);
  });
}

/** Anthropic refuses text behind the calls of an answer. */
function saysMoreBehindCalls(blocks: readonly Block[]): boolean {
  const first = blocks.findIndex(({ type }) => type === "tool_use" || type === "tool_call");
  return first !== -1 && blocks.slice(first).some(isText);
}

/** Anthropic asks for the field also where a thought says nothing. */
function withThinking(block: Block): readonly Block[] {
  const isBare = block.type === "thinking" && typeof block["thinking"] !== "string";
  return [isBare ? (withFields(block as Fields, { thinking: "" }) as Block) : block];
}

/** A test for steps of Anthropic's own tools: each goes with its result, or not at all. */
function pairsIn(blocks: readonly Block[]): (block: Block) => boolean {
  const uses = new Set(blocks.flatMap((block) => (block.type === "server_tool_use" ? [block["id"] as unknown] : [])));
  const results = new Set(
    blocks.flatMap((block) => (stepTypes.has(block.type) ? [(block as Fields)["tool_use_id"]] : [])),
  );
  return (block) => (block.type === "server_tool_use" ? results.has(block["id"]) : uses.has(block["tool_use_id"]));
}

/** True for an answer that ends on a thought, which Anthropic refuses. */
export function endsOnThought(message: BaseMessage): boolean {
  return isThought(blockList(message).at(-1)) && callsOf(message).length === 0;
}
