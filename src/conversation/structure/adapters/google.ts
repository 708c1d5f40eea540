import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { type Block, blockList, blocksOf, isStandardContent } from "../../messages/content.js";
import { isCallBlock } from "../../messages/copies/call-copies.js";
import { signaturesKey } from "../../messages/copies/plain-answer.js";
import { isThought, signatureKey } from "../../messages/copies/thoughts.js";
import { mediaBlock, mediaIn } from "../../messages/media.js";
import { fieldsOf } from "../../messages/values.js";
import type { OwnForm } from "./adapter.js";
import { formedContent, isText, withForm } from "./blocks.js";

const stepTypes = new Set<string>(["executableCode", "codeExecutionResult"]);

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
    isText(block) || stepTypes.has(block.type) || block.type === "functionCall" || isPart(block);
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
    stepTypes.has(block.type) ||
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
