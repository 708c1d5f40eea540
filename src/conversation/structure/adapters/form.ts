import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../../base/json-text.js";
import { foreignCompaction, blocksOf, isBareText, isStandardContent } from "../../messages/content.js";
import { callsAgree } from "../../messages/copies/call-copies.js";
import { itemIdKeys, plainAnswer, spokenText, signaturesKey } from "../../messages/copies/plain-answer.js";
import { mediaBlock, mediaLeftOut } from "../../messages/media.js";
import { speakerOf, fieldsOf, type Fields } from "../../messages/message.js";
import type { StructureRule } from "../rules/rules.js";
import { withoutCompaction, hasForgottenCalls, withForm, withoutMadeUpCalls } from "./blocks.js";
import type { Adapter, FormFacts, OwnForm } from "./adapter.js";
import {
  anthropicAnswer,
  bedrockAnswer,
  googleAnswer,
  googleGenaiAnswer,
  plainForGenai,
  plainForGoogle,
  plainForResponses,
  responsesAnswer,
  withoutItemId,
} from "./provider-forms.js";
import { responsesResult } from "./own-tools.js";
import { questionForm, resultForm } from "./question.js";

type KnownAdapter = Exclude<Adapter, "neutral">;

/** Chat completions and Mistral, through LangChain's adapters: a text, and `tool_calls`; thoughts never go back. */
const textAnswer: OwnForm = (message) => {
  const isText = typeof message.content === "string" && (message.content !== "" || spokenText(message) === "");
  return isText && !isStandardContent(message) ? message : undefined;
};

/** Answers that go back to their own provider as they are; undefined for others. */
const ownForms: Readonly<Record<KnownAdapter, OwnForm>> = {
  "openai-chat": textAnswer,
  "openai-responses": responsesAnswer,
  anthropic: anthropicAnswer,
  google: googleAnswer,
  "google-genai": googleGenaiAnswer,
  mistral: textAnswer,
  bedrock: bedrockAnswer,
  deepseek: textAnswer,
};

/** Fields that an adapter asks for beyond text and `tool_calls`. */
const plainForms: Readonly<Partial<Record<Adapter, OwnForm>>> = {
  "openai-responses": plainForResponses,
  google: plainForGoogle,
  "google-genai": plainForGenai,
  neutral: (message, { model }) => (model === undefined ? withoutItemId(message) : message),
};

/** A message in the form that the adapter reads; the message itself if it has that form. */
export function formFor(adapter: Adapter, message: BaseMessage, facts: FormFacts): BaseMessage {
  const formed = adapterForm(adapter, message, facts);
  return adapter === "neutral" ? inOneText(formed) : formed;
}

/**
 * A message that holds nothing but texts, as one text: a list makes ChatOllama and ChatCerebras leave out the calls
 * beside it, and ChatCohere and ChatCloudflareWorkersAI throw.
 */
function inOneText(message: BaseMessage): BaseMessage {
  const blocks = Array.isArray(message.content) ? blocksOf(message) : [];
  const texts = blocks.filter(isBareText).map(({ text }) => text);
  if (texts.length === 0 || texts.length < blocks.length) {
    return message;
  }
  // Providers part an answer's text where a citation begins; a user's blocks are texts of their own.
  return withForm(message, { content: texts.join(speakerOf(message) === "assistant" ? "" : "\n") });
}

function adapterForm(adapter: Adapter, message: BaseMessage, facts: FormFacts): BaseMessage {
  const speaker = speakerOf(message);
  if (speaker === "assistant" && (message.getType() as string) === "ai") {
    return answerForm(adapter, withoutMadeUpCalls(message), facts);
  }
  if (speaker === "tool") {
    const isResponses = adapter === "openai-responses";
    return isResponses ? responsesResult(message, facts.ownToolPart) : resultForm(adapter, message, facts);
  }
  return speaker === "user" ? questionForm(adapter, message, facts) : message;
}

/** The answer as its own provider gave it, where that is asked; else text, calls and media. */
function answerForm(adapter: Adapter, message: BaseMessage, facts: FormFacts): BaseMessage {
  const isWhole = !hasForgottenCalls(message) && callsAgree(message);
  if (adapter === "neutral") {
    return (isWhole ? ofUnknown(message, facts) : undefined) ?? plainForm(adapter, message, facts);
  }
  const isOwn = isWhole && mayComeFrom(message, adapter);
  return (isOwn ? ownForms[adapter](message, facts) : undefined) ?? plainForm(adapter, message, facts);
}

/** A plain answer as an adapter sends it. Google takes pictures that a model of its own made, others a note. */
function plainForm(adapter: Adapter, message: BaseMessage, facts: FormFacts): BaseMessage {
  const isOfGoogle = [adapter, originOf(message)].every((name) => name === "google" || name === "google-genai");
  const plain = plainAnswer(
    foreignCompaction(message, adapter) === undefined ? message : withoutCompaction(message),
    {},
    (media) => (isOfGoogle ? mediaBlock(media) : undefined) ?? mediaLeftOut(media),
  );
  const base = isReadAlike(message, plain) ? message : plain;
  const formed = plainForms[adapter]?.(base, facts) ?? base;
  return isSame(message, formed) ? message : formed;
}

/** Fields that an adapter reads also in the answer of another one. */
const readFields = ["function_call", "audio", "refusal", "reasoning", "tool_outputs", ...itemIdKeys];

/** True where a plain answer leaves out only what no other adapter reads. */
function isReadAlike(message: BaseMessage, plain: BaseMessage): boolean {
  const { output, output_version: version } = fieldsOf(message.response_metadata);
  const kwargs = fieldsOf(message.additional_kwargs);
  const [own, calls] = [message as AIMessage, (plain as AIMessage).tool_calls];
  const hasRaw = [output, version, ...readFields.map((key) => kwargs[key])].some((field) => field !== undefined);
  return !hasRaw && !hasForgottenCalls(message) && plain.content === message.content && calls === own.tool_calls;
}

function isSame(message: BaseMessage, formed: BaseMessage): boolean {
  const fields = ({ id, content, tool_calls: calls, additional_kwargs, response_metadata }: AIMessage) =>
    [id, content, calls, additional_kwargs, response_metadata] as const;
  return message !== formed && sameAsJson(fields(message as AIMessage), fields(formed as AIMessage));
}

/**
 * For a model that is not known. An answer of an unknown provider may be its own, and stays. Answers of the turn that
 * goes on keep the form of their own provider: they come from the model that is called, which may ask for its thoughts
 * and signatures.
 */
function ofUnknown(message: BaseMessage, facts: FormFacts): BaseMessage | undefined {
  const [origin, adapter] = [originOf(message), adapterOf(message)];
  if (origin === "other" || (facts.isOfThisTurn && origin === undefined)) {
    return message;
  }
  return facts.isOfThisTurn ? answerForm(adapter!, message, facts) : undefined;
}

/**
 * A plain answer with calls that ChatGoogle reads, where no model is in sight and the newest answer came through it.
 * All adapters but two read it too.
 */
export function readableByGoogle(message: BaseMessage, facts: FormFacts): BaseMessage {
  const isAnswer = (message.getType() as string) === "ai" && originOf(message) !== "other";
  return isAnswer && !facts.isOfThisTurn ? plainForm("google", message, { ...facts, isOutOfSight: true }) : message;
}

/** The rule that a message breaks which is not in the adapter's form. */
export function ruleOfForm(message: BaseMessage): StructureRule {
  return speakerOf(message) === "assistant" ? "S36" : "S27";
}

/** Providers by the names under which adapters sign their answers. */
const providers: ReadonlyMap<unknown, string> = new Map([
  ["openai", "openai"],
  ["azure_openai", "openai"],
  ["deepseek", "openai"],
  ["anthropic", "anthropic"],
  ["google", "google"],
  ["google-genai", "google-genai"],
  ["google_genai", "google-genai"],
  ["mistralai", "mistral"],
  ["bedrock-converse", "bedrock"],
]);

/** Origin of an answer: a provider whose form is known, `other` for a named one that is not. */
export type Origin = "openai" | "anthropic" | "google" | "google-genai" | "mistral" | "bedrock" | "other";

/** The origin of an answer; undefined if nothing tells it. Older adapters do not sign, and show in other fields. */
export function originOf(message: BaseMessage): Origin | undefined {
  const { model_provider: provider, output } = fieldsOf(message.response_metadata);
  if (typeof provider === "string") {
    return (providers.get(provider) ?? "other") as Origin;
  }
  const kwargs: Fields = fieldsOf(message.additional_kwargs);
  if (kwargs[signaturesKey] !== undefined) {
    return "google-genai";
  }
  if (kwargs["type"] === "message" && kwargs["role"] === "assistant") {
    return "anthropic";
  }
  if (blocksOf(message).some(({ type, thinking }: Fields) => type === "thinking" && Array.isArray(thinking))) {
    return "mistral";
  }
  return Array.isArray(output) || kwargs["reasoning_content"] !== undefined ? "openai" : undefined;
}

/** The origins whose answers an adapter sends back as they are. */
const readBy: Readonly<Record<Exclude<Adapter, "neutral">, Origin>> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  deepseek: "openai",
  anthropic: "anthropic",
  google: "google",
  "google-genai": "google-genai",
  mistral: "mistral",
  bedrock: "bedrock",
};

/** True for an answer that the adapter may have made: that of its provider, or from nobody knows where. */
function mayComeFrom(message: BaseMessage, adapter: Exclude<Adapter, "neutral">): boolean {
  const origin = originOf(message);
  return origin === undefined || origin === readBy[adapter];
}

/** The adapter that made an answer; undefined where it is not known. */
function adapterOf(message: BaseMessage): Exclude<Adapter, "neutral"> | undefined {
  const origin = originOf(message);
  return origin === "openai"
    ? Array.isArray(fieldsOf(message.response_metadata)["output"])
      ? "openai-responses"
      : "openai-chat"
    : origin === "other"
      ? undefined
      : origin;
}
