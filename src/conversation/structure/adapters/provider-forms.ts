import type { BaseMessage } from "@langchain/core/messages";
import {
  callsOf,
  isCompaction,
  nativeBlock,
  blockList,
  isStandardContent,
  blocksOf,
  contentText,
  textOf,
} from "../../messages/content.js";
import type { Block } from "../../messages/content.js";
import { withFields, signaturesKey, itemIdKeys } from "../../messages/copies/plain-answer.js";
import { isCallBlock } from "../../messages/copies/call-copies.js";
import {
  compactedItems,
  isCallItem,
  isOfModel,
  outputItems,
  isThought,
  thoughtIn,
  signatureKey,
  isReasoningId,
} from "../../messages/copies/thoughts.js";
import type { Thought } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf, stringIn, without } from "../../messages/message.js";
import type { OwnForm, FormFacts } from "./adapter.js";
import { formedContent, isText, withForm, unmarked } from "./blocks.js";
import { mediaBlock, mediaIn } from "../../messages/media.js";
import { knowsItsCalls } from "./own-tools.js";

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
function endsOnThought(message: BaseMessage): boolean {
  return isThought(blockList(message).at(-1)) && callsOf(message).length === 0;
}

/** Converse, through ChatBedrockConverse: texts and signed thoughts; the calls come from `tool_calls`. */
export const bedrockAnswer: OwnForm = (message) => {
  const passes = blockList(message).every((block) =>
    isThought(block)
      ? (block.type === "reasoning" || block.type === "reasoning_content") && thoughtIn(block)!.isSigned
      : isText(block) || "cachePoint" in block,
  );
  return passes && !isStandardContent(message) && !endsOnThought(message) ? message : undefined;
};

const codeTypes = new Set<string>(["executableCode", "codeExecutionResult"]);

/** Google's documented value in place of a signature, for calls that Gemini did not make. */
const uncheckedSignature = "skip_thought_signature_validator";

/** True if the model may ask for signatures of calls: Gemini from 3 on. */
function asksForSignatures(model: string | undefined): boolean {
  return model === undefined || !/gemini-(?:1|2)\b/.test(model);
}

/** Generate content, through ChatGoogle, which reads calls as `functionCall` blocks of the content only. */
export const googleAnswer: OwnForm = (message, { model }) => {
  const blocks = blockList(message);
  const called = blocks.filter(isCallBlock);
  const isSigned = typeof called[0]?.[signatureKey] === "string" || called.length === 0 || !asksForSignatures(model);
  const passes = (block: Block) =>
    isText(block) || codeTypes.has(block.type) || block.type === "functionCall" || isPart(block);
  return !isStandardContent(message) && blocks.every(passes) && isSigned && called.length === callsOf(message).length
    ? withMedia(message)
    : undefined;
};

/** Thoughts of Google's are texts with a mark, media such as both adapters take. */
function isPart(block: Block): boolean {
  return isThought(block) ? block.type === "text" : mediaIn(block)?.data !== undefined;
}

/** ChatGoogle sends what it made of a picture with a key that the API refuses; ChatGoogleGenerativeAI throws at it. */
function withMedia(message: BaseMessage): BaseMessage {
  return withForm(message, { content: formedContent(message.content, mediaPart) });
}

function mediaPart(block: Block): readonly Block[] {
  const media = block.type === "media" ? undefined : mediaIn(block);
  const { [signatureKey]: signature } = block;
  const formed = media && mediaBlock(media);
  return [formed ? { ...formed, ...(signature !== undefined && { [signatureKey]: signature }) } : block];
}

/**
 * A plain answer for ChatGoogle, which reads calls of the content only, and is asked not to check the signature of the
 * first one. For a model out of sight it is standard content: other adapters refuse `functionCall` blocks.
 */
export const plainForGoogle: OwnForm = (message, { model, isOutOfSight }) => {
  const calls = callsOf(message).filter(({ readable }) => readable);
  const blocks = calls.map(({ id, name, args }, place) => {
    // LangChain's own ids stay out of results as well.
    const functionCall = { ...(id?.startsWith("lc-tool-call-") !== true && { id }), name, args };
    const block = isOutOfSight ? { type: "tool_call", id, name, args } : { type: "functionCall", functionCall };
    return place === 0 && asksForSignatures(model) ? { ...block, [signatureKey]: uncheckedSignature } : block;
  });
  return calls.length === 0
    ? message
    : withForm(message, {
        content: [...blocksOf(message), ...blocks],
        response_metadata: { ...fieldsOf(message.response_metadata), ...(isOutOfSight && { output_version: "v1" }) },
      });
};

/** ChatGoogleGenerativeAI has a signature of its own for models named `gemini-3`. */
function needsValue(message: BaseMessage, model: string | undefined): boolean {
  const id = callsOf(message)[0]?.id;
  const signatures = fieldsOf(fieldsOf(message.additional_kwargs)[signaturesKey]);
  return id !== undefined && signatures[id] === undefined && asksForSignatures(model) && !model?.includes("gemini-3");
}

/** Generate content, through ChatGoogleGenerativeAI: calls come from `tool_calls`, signatures from other fields. */
export const googleGenaiAnswer: OwnForm = (message, { model }) => {
  const passes = (block: Block) =>
    isText(block) ||
    codeTypes.has(block.type) ||
    ["thinking", "functionCall"].includes(block.type) ||
    (!isThought(block) && isPart(block));
  return !isStandardContent(message) && blockList(message).every(passes) && !needsValue(message, model)
    ? withMedia(message)
    : undefined;
};

/** A plain answer for ChatGoogleGenerativeAI, with the value that skips the check of the first call's signature. */
export const plainForGenai: OwnForm = (message, { model }) => {
  const signatures = { [callsOf(message)[0]?.id ?? ""]: uncheckedSignature };
  return needsValue(message, model)
    ? withForm(message, { additional_kwargs: { ...fieldsOf(message.additional_kwargs), [signaturesKey]: signatures } })
    : message;
};

/**
 * The Responses API, through ChatOpenAI, which sends `response_metadata.output` as it is if there is one, and else the
 * content, `additional_kwargs.reasoning` and `tool_calls`.
 */
export const responsesAnswer: OwnForm = (message, facts) => {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  const sent = items ?? [fieldsOf(message.additional_kwargs)["reasoning"]];
  const thoughts = sent.flatMap((item) => thoughtIn(item) ?? []);
  const isUnsent = facts.isRepeated === true || facts.ownToolPart === "unanswered-by-picture";
  if (isUnsent || !thoughts.every((thought) => isKept(thought, facts))) {
    return undefined;
  }
  if (items === undefined) {
    return hasOwnFields(message) ? message : undefined;
  }
  const isWhole = !isThought(items.at(-1)) && tellsTheSame(items, message) && items.every(isAnswered);
  return isWhole ? withForm(message, { response_metadata: unmarked(message) }) : undefined;
};

/** True for a thought that the provider keeps, or that goes back with its encrypted content. */
function isKept({ block }: Thought, { storesReasoning }: FormFacts): boolean {
  return typeof block["encrypted_content"] === "string" || (storesReasoning && isReasoningId(block["id"]));
}

/** Without a raw output the ids of items stand beside one thought, and are taken together with it. */
function hasOwnFields(message: BaseMessage): boolean {
  const kwargs = fieldsOf(message.additional_kwargs);
  const hasThought = kwargs["reasoning"] !== undefined;
  const hasIds = message.id?.startsWith("msg_") === true || itemIdKeys.some((key) => kwargs[key] !== undefined);
  const saysSomething = callsOf(message).length > 0 || textOf(message).trim() !== "";
  const isSent = (block: { readonly type: string }) => block.type === "output_text" || block.type === "refusal";
  return (
    !isStandardContent(message) &&
    (hasThought ? saysSomething : !hasIds && kwargs["tool_outputs"] === undefined) &&
    knowsItsCalls(message) &&
    !hasLocalCalls(kwargs["tool_outputs"]) &&
    blockList(message).every((block) => isText(block) || isSent(block))
  );
}

/** Calls of OpenAI's own tools that run with the user: no message of LangChain answers them, but for hosted ones. */
const localCalls: ReadonlySet<unknown> = new Set(["local_shell_call", "shell_call", "apply_patch_call"]);

/** ChatOpenAI sends these items besides `tool_calls`, which hold the calls of the computer too. */
function hasLocalCalls(items: unknown): boolean {
  return Array.isArray(items) && items.map(fieldsOf).some((item) => localCalls.has(item["type"]) || isCallItem(item));
}

function isAnswered({ type, call_id: id }: Fields, _: number, items: readonly Fields[]): boolean {
  const isResult = (item: Fields) => item["type"] === `${String(type)}_output` && item["call_id"] === id;
  return !localCalls.has(type) || items.some(isResult);
}

/** True if the items hold as many calls and the text of the answer, and no other ones but what was compacted. */
function tellsTheSame(items: readonly Fields[], message: BaseMessage): boolean {
  // A compaction stands among messages of the user that it keeps.
  const said = items.filter(isOfModel).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const told = said.map((part: unknown) => fieldsOf(part)["text"]).filter((text) => typeof text === "string");
  return items.filter(isCallItem).length === callsOf(message).length && told.join("") === contentText(message.content);
}

/**
 * A plain answer for ChatOpenAI. A compaction goes out as items, without ids, of which OpenAI takes each once; the rest
 * of the answer does too, because ChatOpenAI sends nothing but items then.
 */
export const plainForResponses: OwnForm = (message) => {
  const metadata = fieldsOf(message.response_metadata);
  const compacted = compactedItems(metadata["output"]).map((item) => without(item, "id"));
  if (compacted.length === 0) {
    return withoutItemId(message);
  }
  const text = contentText(message.content);
  const content = [{ type: "output_text", text, annotations: [] }];
  const called = callsOf(message).map(({ id, name, args }) => {
    return { type: "function_call", call_id: id, name, arguments: stringIn(args) ?? JSON.stringify(args) };
  });
  const said = text === "" ? [] : [{ type: "message", role: "assistant", content }];
  return withForm(message, { response_metadata: { ...metadata, output: [...compacted, ...said, ...called] } });
};

/** ChatOpenAI sends an id that looks like an item's; Anthropic's look the same. */
export function withoutItemId(message: BaseMessage): BaseMessage {
  return message.id?.startsWith("msg_") === true ? withForm(message, { id: undefined }) : message;
}
