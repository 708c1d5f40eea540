import { AIMessage, type BaseMessage, type ContentBlock } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { outputItems } from "../../messages/copies/output-items.js";
import { signatureKey } from "../../messages/copies/thoughts.js";
import { fieldsOf, without } from "../../messages/values.js";
import type { AnswerForm, FormFacts } from "./adapter.js";
import { anthropicAnswer } from "./anthropic.js";
import { bedrockAnswer } from "./bedrock.js";
import { googleAnswer, googleGenaiAnswer, uncheckedSignature } from "./google.js";
import { responsesAnswer, withoutItemId } from "./openai-responses.js";
import { type Origin, originOf } from "./origin.js";
import { chatAnswer, mistralAnswer, plainAnswer } from "./plain.js";

/** The form in which an answer goes back to its own provider. */
const ownForms: Readonly<Record<Exclude<Origin, "other">, AnswerForm>> = {
  // ChatOpenAI takes a raw output to the Responses API only.
  openai: (message, facts) => chatAnswer(responsesAnswer(message, facts), facts),
  anthropic: anthropicAnswer,
  google: googleAnswer,
  "google-genai": googleGenaiAnswer,
  mistral: mistralAnswer,
  bedrock: bedrockAnswer,
};

/**
 * For a model that is not known. An answer of an unknown provider may be its own, and stays. Answers of the turn that
 * goes on keep the form of their own provider: they come from the model that is called, which may ask for its thoughts
 * and signatures.
 */
export const neutralAnswer: AnswerForm = (message, facts) => {
  const origin = originOf(message);
  if (origin === "other" || (facts.isOfThisTurn && origin === undefined) || isReadable(message)) {
    return message;
  }
  if (facts.isOfThisTurn) {
    return ownForms[origin!](message, facts);
  }
  const plain = plainOf(message, facts);
  const isRaw = outputItems(fieldsOf(plain.response_metadata)["output"]) !== undefined;
  return isRaw || facts.model !== undefined ? plain : withoutItemId(plain);
};

/** Texts and calls. Thoughts of OpenAI stay where it takes them back whether it stores them or not. */
function plainOf(message: BaseMessage, facts: FormFacts): BaseMessage {
  return plainAnswer(
    originOf(message) === "openai" ? responsesAnswer(message, { ...facts, storesReasoning: false }) : message,
  );
}

/**
 * Answers whose calls ChatGoogle reads too: it sends those of `functionCall` blocks, which others throw at, and
 * `tool_calls` only of messages marked as standard content. Others read marked messages by `contentBlocks`, or do not
 * heed the mark: with both, text and calls reach all of them. Neither is a field, so that a copy, also one by way of
 * JSON, is the plain answer.
 */
const readable: object = Object.create(AIMessage.prototype, {
  response_metadata: { get: () => ({ output_version: "v1" }), set: () => undefined },
  contentBlocks: {
    get(this: AIMessage): ContentBlock[] {
      const { content, tool_calls: calls = [] } = this;
      const said = typeof content !== "string" ? content : content === "" ? [] : [{ type: "text", text: content }];
      return [...said, ...calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args }))] as ContentBlock[];
    },
  },
}) as object;

function isReadable(message: BaseMessage): boolean {
  return Object.getPrototypeOf(message) === readable;
}

/** The answer without what {@link readableByAll} gave it; any other message as it is. */
export function plainOfReadable(message: BaseMessage): BaseMessage {
  return isReadable(message)
    ? Object.assign(Object.create(AIMessage.prototype) as BaseMessage, message, {
        response_metadata: {},
        lc_kwargs: { ...message.lc_kwargs, response_metadata: {} },
      })
    : message;
}

/**
 * True where calls need a form that ChatGoogle reads too. The newest answer's provider is likely to be asked again, and
 * ChatOpenAI before 1.1 sends no calls of marked messages: they stay plain behind its answers and unsigned ones.
 */
export function needsReadableCalls(messages: readonly BaseMessage[]): boolean {
  const newest = messages.findLast((message) => originOf(message) !== undefined);
  return newest !== undefined && originOf(newest) !== "openai";
}

/** A plain answer whose calls every adapter reads; any other message as it is. */
export function readableByAll(message: BaseMessage, facts: FormFacts): BaseMessage {
  const isAnswer = (message.getType() as string) === "ai" && originOf(message) !== "other" && !isReadable(message);
  if (!isAnswer || callsOf(message).length === 0 || plainOf(message, facts) !== message) {
    return message;
  }
  const kwargs = { ...without(fieldsOf(message.lc_kwargs), "response_metadata") };
  const made = Object.assign(Object.create(readable) as AIMessage, message, { lc_kwargs: kwargs });
  const [first, ...others] = made.tool_calls ?? [];
  // Gemini asks for signatures in the turn that goes on.
  return facts.isOfThisTurn && first !== undefined
    ? Object.assign(made, { tool_calls: [{ [signatureKey]: uncheckedSignature, ...first }, ...others] })
    : made;
}
