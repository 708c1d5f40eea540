import type { BaseMessage } from "@langchain/core/messages";
import { dropKwarg, setKwarg } from "../../messages/change-message.js";
import { signaturesKey } from "../../messages/copies/answer-fields.js";
import type { Thought } from "../../messages/copies/edits.js";
import { editAll } from "../../messages/copies/edit-message.js";
import { outputItems } from "../../messages/copies/output-items.js";
import { isReasoningId, isThought, signatureKey, thoughtIn } from "../../messages/copies/thoughts.js";
import { uncheckedSignature } from "../adapters/google.js";
import type { MessagePlace, MessageRule } from "./rules.js";
import { callsOf } from "../../messages/calls.js";
import { blocksOf, isBlankText } from "../../messages/content.js";
import { speakerOf } from "../../messages/roles.js";
import { type Fields, fieldsOf, isRecord } from "../../messages/values.js";

/** S21: no thought ends a message. */
export const noThoughtAtEnd: MessageRule = {
  rule: "S21",
  find(message) {
    const ends = speakerOf(message) === "assistant" && isThought(blocksOf(message).at(-1));
    return ends && callsOf(message).length === 0 ? "The message ends in a thought." : undefined;
  },
  repair(message) {
    const changed = editAll(message, {
      blocks: (blocks) => blocks.slice(0, blocks.findLastIndex((block) => !isThought(block)) + 1),
    });
    return { message: changed, done: "Removed thoughts from the end of the message." };
  },
};

/** S36: thoughts of any form carry a signature of the provider that they go to. */
export const ownThoughts: MessageRule = {
  rule: "S36",
  find(message, place) {
    const isAnswer = speakerOf(message) === "assistant";
    const thoughts = isAnswer ? blocksOf(message).map(thoughtIn) : [];
    return thoughts.some((thought) => thought !== undefined && isForeign(thought, message, place))
      ? "A thought has no signature, or one of another provider."
      : undefined;
  },
  repair(message, place) {
    const changed = editAll(message, {
      thoughts: (thought) => (isForeign(thought, message, place) ? undefined : thought.text),
    });
    return { message: changed, done: "Removed thoughts that the provider rejects." };
  },
};

function isForeign({ isSigned }: Thought, message: BaseMessage, { context }: MessagePlace): boolean {
  const { thinkingFrom: known } = context.profile;
  const { model_provider: provider } = fieldsOf(message.response_metadata);
  return !isSigned || (typeof provider === "string" && known !== undefined && !known.includes(provider));
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
    const changed = editAll(message, {
      thoughts: ({ text, block }) => (isReasoningItem(block) ? undefined : text),
    });
    return { message: changed, done: "Removed a reasoning item." };
  },
};

function hasReasoningItem(message: BaseMessage, test: (item: Record<string, unknown>) => boolean): boolean {
  const own = (message.additional_kwargs as Record<string, unknown>)?.["reasoning"];
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  return [own, ...items.filter(isReasoningItem), ...blocksOf(message).filter(isReasoningItem)].some(
    (item) => isRecord(item) && isReasoningId(item["id"]) && test(item),
  );
}

function isReasoningItem(block: Fields): boolean {
  return block["type"] === "reasoning" && isReasoningId(block["id"]);
}

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
    return {
      message: setKwarg(message, signaturesKey, signatures),
      done: "Told the provider not to check the thought signature of a call.",
    };
  },
};

function isSigned(message: BaseMessage, id: string): boolean {
  const signatures = (message.additional_kwargs as Record<string, unknown>)?.[signaturesKey];
  const signature = isRecord(signatures) && Object.hasOwn(signatures, id) ? signatures[id] : undefined;
  return (
    (typeof signature === "string" && signature !== "") ||
    blocksOf(message).some((block) => typeof block[signatureKey] === "string")
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
    return {
      message: setKwarg(message, reasoningKey, "(the reasoning was not kept)"),
      done: "Added a placeholder for the reasoning text.",
    };
  },
};
