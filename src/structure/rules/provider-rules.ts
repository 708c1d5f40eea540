import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { changeMessage, contentOf, dropKwarg, signaturesKey } from "../../messages/change-message.js";
import type { MessagePlace, MessageRule } from "./rules.js";
import { callsOf } from "../../messages/calls.js";
import { type Block, blocksOf, isBlankText } from "../../messages/content.js";
import { speakerOf } from "../../messages/roles.js";
import { isRecord } from "../../messages/values.js";

/** S21: thinking blocks carry the signature of the provider that they go to, and do not end a message. */
export const signedThinking: MessageRule = {
  rule: "S21",
  find(message, place) {
    if (speakerOf(message) !== "assistant") {
      return undefined;
    }
    const blocks = blocksOf(message);
    if (blocks.some((block) => isThinking(block) && !isUsable(block, message, place))) {
      return "A thinking block has no signature, or one of another provider.";
    }
    const endsOnThought = isThinking(blocks.at(-1)) && callsOf(message).length === 0;
    return endsOnThought ? "The message ends in a thinking block." : undefined;
  },
  repair(message, place) {
    const blocks = blocksOf(message).filter((block) => !isThinking(block) || isUsable(block, message, place));
    const last = blocks.findLastIndex((block) => !isThinking(block));
    const content = contentOf(callsOf(message).length === 0 ? blocks.slice(0, last + 1) : blocks);
    return { message: changeMessage(message, { content }), done: "Removed thinking that the provider rejects." };
  },
};

function isThinking(block: Block | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function isUsable(block: Block, message: BaseMessage, { context }: MessagePlace): boolean {
  const proof = block.type === "thinking" ? block["signature"] : block["data"];
  const provider = (message.response_metadata as Record<string, unknown>)?.["model_provider"];
  const known = context.profile.thinkingFrom;
  const foreign = typeof provider === "string" && known !== undefined && !known.includes(provider);
  return typeof proof === "string" && proof !== "" && !foreign;
}

/** S22: a reasoning item is stored with the provider, and followed by what it led to. */
export const followedReasoning: MessageRule = {
  rule: "S22",
  find(message, { context }) {
    if (speakerOf(message) !== "assistant" || !hasReasoningItem(message, () => true)) {
      return undefined;
    }
    const follows =
      callsOf(message).length > 0 || blocksOf(message).some((block) => !isReasoningItem(block) && !isBlankText(block));
    if (!follows) {
      return "Nothing follows a reasoning item.";
    }
    const isLost = (item: Record<string, unknown>) => typeof item["encrypted_content"] !== "string";
    return !context.storesReasoning && hasReasoningItem(message, isLost)
      ? "A reasoning item is not stored with the provider."
      : undefined;
  },
  repair(message) {
    const blocks = blocksOf(message).filter((block) => !isReasoningItem(block));
    const hadBlocks = blocks.length < blocksOf(message).length;
    const changed = hadBlocks ? changeMessage(message, { content: contentOf(blocks) }) : message;
    return { message: dropKwarg(changed, "reasoning"), done: "Removed a reasoning item." };
  },
};

function hasReasoningItem(message: BaseMessage, test: (item: Record<string, unknown>) => boolean): boolean {
  const own = (message.additional_kwargs as Record<string, unknown>)?.["reasoning"];
  return [own, ...blocksOf(message).filter(isReasoningItem)].some(
    (item) => isRecord(item) && isReasoningId(item["id"]) && test(item),
  );
}

function isReasoningItem(block: Block): boolean {
  return block.type === "reasoning" && isReasoningId(block["id"]);
}

function isReasoningId(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("rs_");
}

/** Google's documented placeholder that skips the signature check. */
const uncheckedSignature = "skip_thought_signature_validator";

/** S23: the first call of each step in the current turn carries its thought signature. */
export const signedCalls: MessageRule = {
  rule: "S23",
  find(message, { context, index }) {
    const [first] = index > context.lastUser ? callsOf(message) : [];
    return first === undefined || isSigned(message, first.id ?? "")
      ? undefined
      : "The first call of the message has no thought signature.";
  },
  repair(message) {
    const id = callsOf(message)[0]?.id ?? "";
    const kwargs = message.additional_kwargs as Record<string, unknown>;
    const signatures = { ...(kwargs[signaturesKey] as object | undefined), [id]: uncheckedSignature };
    const changed = changeMessage(message, { additional_kwargs: { ...kwargs, [signaturesKey]: signatures } });
    return { message: changed, done: "Told the provider not to check the thought signature of a call." };
  },
};

function isSigned(message: BaseMessage, id: string): boolean {
  const signatures = (message.additional_kwargs as Record<string, unknown>)?.[signaturesKey];
  const signature = isRecord(signatures) && Object.hasOwn(signatures, id) ? signatures[id] : undefined;
  return (
    (typeof signature === "string" && signature !== "") ||
    blocksOf(message).some((block) => typeof block["thoughtSignature"] === "string")
  );
}

const reasoningKey = "reasoning_content";

/** S24: reasoning text goes back if the model asks for it, and otherwise does not. */
export const returnedReasoning: MessageRule = {
  rule: "S24",
  find(message, { context }) {
    if (speakerOf(message) !== "assistant") {
      return undefined;
    }
    const text = (message.additional_kwargs as Record<string, unknown>)?.[reasoningKey];
    const isRequired = context.profile.reasoningText === "required";
    if (isRequired) {
      return typeof text === "string" && text !== "" ? undefined : "The message has no reasoning text.";
    }
    return text === undefined ? undefined : "The message carries reasoning text.";
  },
  repair(message, { context }) {
    if (context.profile.reasoningText !== "required") {
      return { message: dropKwarg(message, reasoningKey), done: "Removed the reasoning text." };
    }
    const kwargs = { ...message.additional_kwargs, [reasoningKey]: "(the reasoning was not kept)" };
    return {
      message: changeMessage(message as AIMessage, { additional_kwargs: kwargs }),
      done: "Added a placeholder for the reasoning text.",
    };
  },
};
