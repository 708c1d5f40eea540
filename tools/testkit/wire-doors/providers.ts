import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { Readable } from "node:stream";
import type { WireKind } from "../../../testing/wire/findings.js";
import type { DoorProvider } from "./cells.js";

/** A provider as an application sees it: its adapter, at a base URL. */
export interface Provider {
  readonly kind: WireKind;
  model(url: string): BaseChatModel;
}

const access = { apiKey: "none", maxRetries: 0 };
const asModel = (model: unknown) => model as BaseChatModel;
const openai = (url: string, more: object) =>
  asModel(new ChatOpenAI({ ...access, ...more, configuration: { baseURL: `${url}/v1` } }));
const gemini = { ...access, model: "gemini-3-pro-preview" };

/** The adapters, each at a base URL. The models are those whose rules are the strictest. */
export const providers: Readonly<Record<DoorProvider, Provider>> = {
  "openai-chat": { kind: "openai-chat", model: (url) => openai(url, { model: "gpt-4o" }) },
  responses: {
    kind: "openai-responses",
    model: (url) => openai(url, { model: "gpt-5.5", useResponsesApi: true }),
  },
  anthropic: {
    kind: "anthropic",
    model: (url) => asModel(new ChatAnthropic({ ...access, model: "claude-opus-5-5", anthropicApiUrl: url })),
  },
  google: { kind: "gemini", model: (url) => asModel(new ChatGoogle({ ...gemini, endpoint: url })) },
  "google-genai": { kind: "gemini", model: (url) => asModel(new ChatGoogleGenerativeAI({ ...gemini, baseUrl: url })) },
  mistral: {
    kind: "mistral",
    model: (url) => asModel(new ChatMistralAI({ ...access, model: "mistral-large-latest", serverURL: url })),
  },
  bedrock: { kind: "bedrock", model: bedrock },
};

interface AwsRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Its client speaks HTTP/2, and that only to Amazon: its requests are fetched here. */
function bedrock(url: string): BaseChatModel {
  const credentials = { accessKeyId: access.apiKey, secretAccessKey: access.apiKey };
  const model = new ChatBedrockConverse({
    model: "anthropic.claude-opus-4-8-v1:0",
    region: "us-east-1",
    credentials,
    clientOptions: { maxAttempts: 1 },
  });
  const requestHandler = {
    handle: async (
      { path, method, headers, body }: AwsRequest,
      { abortSignal }: { readonly abortSignal?: AbortSignal } = {},
    ) => {
      const { host: _, ...others } = headers;
      const response = await fetch(`${url}${path}`, {
        method,
        headers: others,
        body,
        ...(abortSignal && { signal: abortSignal }),
      });
      return {
        response: {
          statusCode: response.status,
          headers: Object.fromEntries(response.headers),
          body: Readable.fromWeb(response.body as never),
        },
      };
    },
  };
  Object.assign(model.client.config, { requestHandler });
  return asModel(model);
}
