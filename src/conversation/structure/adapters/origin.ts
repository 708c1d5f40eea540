import type { BaseMessage } from "@langchain/core/messages";
import { blocksOf } from "../../messages/content.js";
import { signaturesKey } from "../../messages/copies/plain-answer.js";
import { type Fields, fieldsOf } from "../../messages/message.js";
import type { Adapter } from "./adapter.js";

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
export function mayComeFrom(message: BaseMessage, adapter: Exclude<Adapter, "neutral">): boolean {
  const origin = originOf(message);
  return origin === undefined || origin === readBy[adapter];
}

/** The adapter that made an answer; undefined where it is not known. */
export function adapterOf(message: BaseMessage): Exclude<Adapter, "neutral"> | undefined {
  const origin = originOf(message);
  return origin === "openai"
    ? Array.isArray(fieldsOf(message.response_metadata)["output"])
      ? "openai-responses"
      : "openai-chat"
    : origin === "other"
      ? undefined
      : origin;
}
