import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import type { BuiltInProfile } from "../../../src/conversation/structure/profiles/built-in-profiles.js";
import type { WireModel } from "../../../testing/wire/capture-wire.js";
import { ProviderMemory } from "../../../testing/wire/provider-memory.js";

/** An adapter that requests are sent through. */
export interface Target {
  readonly name: string;
  readonly profile: BuiltInProfile;
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

const asModel = (model: unknown) => model as WireModel;

/** The adapters that requests are sent through. */
export function targets(): readonly Target[] {
  const target = (name: string, profile: BuiltInProfile, memory: ProviderMemory, model: unknown) => ({
    name,
    profile,
    memory,
    model: asModel(model),
  });
  return [
    target("openai-chat", "openai-chat", nothing, new ChatOpenAI({ model: "gpt-4o", apiKey })),
    target("responses", "openai-responses", openai, new ChatOpenAI(reasoning)),
    target("responses-zdr", "openai-responses", openai, new ChatOpenAI({ ...reasoning, zdrEnabled: true })),
    target("anthropic", "anthropic", anthropic, new ChatAnthropic(claude)),
    target("google", "google", google, new ChatGoogle(gemini)),
    target("google-genai", "google-genai", google, new ChatGoogleGenerativeAI(gemini)),
    target("mistral", "mistral", nothing, new ChatMistralAI({ model: "mistral-large-latest", apiKey })),
    target("bedrock", "bedrock", bedrock, new ChatBedrockConverse(converse)),
    target("deepseek", "deepseek", nothing, new ChatDeepSeek({ model: "deepseek-chat", apiKey })),
  ];
}

/** The adapters that make native answers, with the provider's own content and LangChain's standard one. */
export function sources(): readonly Source[] {
  const source = (name: string, memory: ProviderMemory, made: Source["made"], model: unknown) => ({
    name,
    memory,
    made,
    model: asModel(model),
  });
  const all = ["thinking", "search", "image"] as const;
  return [
    source("openai-chat", nothing, [], new ChatOpenAI({ model: "gpt-4o", apiKey })),
    source("responses", openai, all, new ChatOpenAI(reasoning)),
    source("responses-zdr", openai, all, new ChatOpenAI({ ...reasoning, zdrEnabled: true })),
    source("responses-v1", openai, all, new ChatOpenAI({ ...reasoning, ...v1 })),
    source("anthropic", anthropic, ["thinking", "search"], new ChatAnthropic(claude)),
    source("anthropic-v1", anthropic, ["thinking", "search"], new ChatAnthropic({ ...claude, ...v1 })),
    source("google", google, all, new ChatGoogle(gemini)),
    source("google-v1", google, all, new ChatGoogle({ ...gemini, ...v1 })),
    source("google-genai", google, all, new ChatGoogleGenerativeAI(gemini)),
    source("mistral", nothing, [], new ChatMistralAI({ model: "mistral-large-latest", apiKey })),
    source("bedrock", bedrock, ["thinking"], new ChatBedrockConverse(converse)),
    source("deepseek", nothing, ["thinking"], new ChatDeepSeek({ model: "deepseek-chat", apiKey })),
  ];
}
