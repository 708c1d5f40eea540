import { ChatAnthropic } from "@langchain/anthropic";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import type { WireModel } from "../../../testing/wire/capture-wire.js";

/** A provider that is called, by the adapters that reach it. */
export interface CalledProvider {
  /** Begins the names of its variables: `<name>_API_KEY`, `<name>_MODEL`, `<name>_BASE_URL`. */
  readonly name: string;
  /** The model where `<name>_MODEL` is not set. */
  readonly model: string;
  /** Beginning of the names of sources in the wire matrix whose answers are its own. */
  readonly own: RegExp;
  readonly adapters: Readonly<Record<string, (access: Access) => unknown>>;
}

/** Access to a provider; without `url`, its own service. */
export interface Access {
  readonly apiKey: string;
  readonly model: string;
  readonly url: string | undefined;
}

const openai = ({ apiKey, model, url }: Access, useResponsesApi: boolean) =>
  new ChatOpenAI({ apiKey, model, useResponsesApi, ...(url !== undefined && { configuration: { baseURL: url } }) });

/** Every provider that is called if its key is set. */
export const calledProviders: readonly CalledProvider[] = [
  {
    name: "OPENAI",
    model: "gpt-5.5",
    own: /^(openai|responses)/,
    adapters: { "openai-chat": (access) => openai(access, false), responses: (access) => openai(access, true) },
  },
  {
    name: "ANTHROPIC",
    model: "claude-opus-5-5",
    own: /^anthropic/,
    adapters: {
      anthropic: ({ apiKey, model, url }) =>
        new ChatAnthropic({
          apiKey,
          model,
          maxTokens: 4_096,
          thinking: { type: "adaptive" },
          ...(url !== undefined && { anthropicApiUrl: url }),
        }),
    },
  },
  {
    name: "GOOGLE",
    model: "gemini-3-pro-preview",
    own: /^google/,
    adapters: {
      google: ({ apiKey, model, url }) =>
        new ChatGoogle({ apiKey, model, ...(url !== undefined && { endpoint: url }) }),
      "google-genai": ({ apiKey, model, url }) =>
        new ChatGoogleGenerativeAI({ apiKey, model, ...(url !== undefined && { baseUrl: url }) }),
    },
  },
  {
    name: "MISTRAL",
    model: "mistral-large-latest",
    own: /^mistral/,
    adapters: {
      mistral: ({ apiKey, model, url }) =>
        new ChatMistralAI({ apiKey, model, ...(url !== undefined && { serverURL: url }) }),
    },
  },
];

/** A variable of the environment; undefined if it is not set, or empty. */
export function variable(name: string): string | undefined {
  return process.env[name] || undefined;
}

/** The models of the providers whose key is set, by adapter. */
export function calledModels(): { readonly adapter: string; readonly own: RegExp; readonly model: WireModel }[] {
  return calledProviders.flatMap(({ name, model, own, adapters }) => {
    const apiKey = variable(`${name}_API_KEY`);
    const access = { model: variable(`${name}_MODEL`) ?? model, url: variable(`${name}_BASE_URL`) };
    return apiKey === undefined
      ? []
      : Object.entries(adapters).map(([adapter, made]) => ({
          adapter,
          own,
          model: made({ apiKey, ...access }) as WireModel,
        }));
  });
}
