import type { BaseMessage } from "@langchain/core/messages";
import { blocksOf } from "../../messages/content.js";
import { signaturesKey } from "../../messages/copies/answer-fields.js";
import { type Fields, fieldsOf } from "../../messages/values.js";

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

/** True for an answer that comes from one of these, or from nobody knows where. */
export function mayComeFrom(message: BaseMessage, origins: readonly Origin[]): boolean {
  const origin = originOf(message);
  return origin === undefined || origins.includes(origin);
}
