import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import type { Adapter } from "../../../src/conversation/structure/adapters/adapter.js";
import type { WireModel } from "../../../testing/wire/capture-wire.js";
import { ProviderMemory } from "../../../testing/wire/provider-memory.js";

/** An adapter that requests are sent through. */
export interface Target {
  readonly name: string;
  readonly profile: Adapter;
  readonly model: WireModel;
  readonly memory: ProviderMemory;
}

/** An adapter that makes native answers; `made` says which parts its provider's answers have. */
export interface Source {
  readonly name: string;
  readonly model: WireModel;
  readonly memory: ProviderMemory;
  readonly made: readonly ("thinking" | "search" | "image")[];
}

// Without a key, nothing that is sent by mistake is accepted.
const apiKey = "none";
const credentials = { accessKeyId: apiKey, secretAccessKey: apiKey };
const claude = { model: "claude-opus-4-8", apiKey };
const gemini = { model: "gemini-3-pro-preview", apiKey };
const reasoning = { model: "gpt-5.5", apiKey, useResponsesApi: true };
const converse = { model: "anthropic.claude-opus-4-8-v1:0", region: "us-east-1", credentials };
const v1 = { outputVersion: "v1" } as const;

/** Each provider remembers what it gave out, whichever adapter asked. */
const openai = new ProviderMemory();
const anthropic = new ProviderMemory();
const google = new ProviderMemory();
const bedrock = new ProviderMemory();
const nothing = new ProviderMemory();

type KnownAdapter = Exclude<Adapter, "neutral">;

/** The adapters that requests are sent through. */
export function targets(): readonly Target[] {
  const target = (profile: KnownAdapter, memory: ProviderMemory, model: unknown, name: string = profile) => ({
    ...{ name, profile, memory },
    model: model as WireModel,
  });
  const all: Readonly<Record<KnownAdapter, readonly Target[]>> = {
    "openai-chat": [target("openai-chat", nothing, new ChatOpenAI({ model: "gpt-4o", apiKey }))],
    "openai-responses": [
      target("openai-responses", openai, new ChatOpenAI(reasoning), "responses"),
      target("openai-responses", openai, new ChatOpenAI({ ...reasoning, zdrEnabled: true }), "responses-zdr"),
    ],
    anthropic: [target("anthropic", anthropic, new ChatAnthropic(claude))],
    google: [target("google", google, new ChatGoogle(gemini))],
    "google-genai": [target("google-genai", google, new ChatGoogleGenerativeAI(gemini))],
    mistral: [target("mistral", nothing, new ChatMistralAI({ model: "mistral-large-latest", apiKey }))],
    bedrock: [target("bedrock", bedrock, new ChatBedrockConverse(converse))],
    deepseek: [target("deepseek", nothing, new ChatDeepSeek({ model: "deepseek-chat", apiKey }))],
  };
  return Object.values(all).flat();
}

/** The adapters that make native answers, with the provider's own content and LangChain's standard one. */
export function sources(): readonly Source[] {
  const source = (name: string, memory: ProviderMemory, made: Source["made"], model: unknown) => ({
    ...{ name, memory, made },
    model: model as WireModel,
  });
  const parts = ["thinking", "search", "image"] as const;
  const all: Readonly<Record<KnownAdapter, readonly Source[]>> = {
    "openai-chat": [source("openai-chat", nothing, [], new ChatOpenAI({ model: "gpt-4o", apiKey }))],
    "openai-responses": [
      source("responses", openai, parts, new ChatOpenAI(reasoning)),
      source("responses-zdr", openai, parts, new ChatOpenAI({ ...reasoning, zdrEnabled: true })),
      source("responses-v1", openai, parts, new ChatOpenAI({ ...reasoning, ...v1 })),
    ],
    anthropic: [
      source("anthropic", anthropic, ["thinking", "search"], new ChatAnthropic(claude)),
      source("anthropic-v1", anthropic, ["thinking", "search"], new ChatAnthropic({ ...claude, ...v1 })),
    ],
    google: [
      source("google", google, parts, new ChatGoogle(gemini)),
      source("google-v1", google, parts, new ChatGoogle({ ...gemini, ...v1 })),
    ],
    "google-genai": [source("google-genai", google, parts, new ChatGoogleGenerativeAI(gemini))],
    mistral: [source("mistral", nothing, [], new ChatMistralAI({ model: "mistral-large-latest", apiKey }))],
    bedrock: [source("bedrock", bedrock, ["thinking"], new ChatBedrockConverse(converse))],
    deepseek: [source("deepseek", nothing, ["thinking"], new ChatDeepSeek({ model: "deepseek-chat", apiKey }))],
  };
  return Object.values(all).flat();
}
