import type { BaseMessage } from "@langchain/core/messages";
import { type CaughtRequest, withCaughtFetch } from "./caught-fetch.js";
import type { WireKind } from "./findings.js";
import { fieldsIn } from "./json.js";

/** A chat model of LangChain, or a binding of one. */
export interface WireModel {
  /** Sends the messages and returns the answer. */
  invoke(messages: BaseMessage[]): Promise<unknown>;
  /** Sends the messages and streams the answer. */
  stream(messages: BaseMessage[]): Promise<AsyncIterable<unknown>>;
  /** Returns the model with tools bound. */
  bindTools?(tools: never[]): Omit<WireModel, "bindTools">;
}

/** How {@link captureWire} calls the model. */
export interface CaptureWireOptions {
  /** Whether to stream. @default false */
  readonly streaming?: boolean;
  /** Tools to bind, in any form that the model takes. @default none */
  readonly tools?: readonly unknown[];
}

/** The request that a model would have sent. */
export interface CapturedWire {
  /** Its form, by the URL that the model called. */
  readonly kind: WireKind;
  /** The model's name, from the body or the URL. */
  readonly model: string;
  /** The parsed body. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Returns the body that a chat model makes of messages, by calling the real model with a caught client: nothing goes to
 * the network, and any text does as a key. Errors of the model before it sends are thrown.
 *
 * Catches `fetch`, and the request handler of Bedrock's client.
 *
 * @throws Error if the model sends nothing that is known.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { ChatOpenAI } from "@langchain/openai";
 * import { captureWire } from "langchain-redis-memory/testing";
 *
 * const model = new ChatOpenAI({ model: "gpt-5.5", useResponsesApi: true, apiKey: "none" });
 * const { kind, body } = await captureWire(model, [new HumanMessage("Hi")], { streaming: true });
 */
export async function captureWire(
  model: WireModel,
  messages: readonly BaseMessage[],
  { streaming = false, tools }: CaptureWireOptions = {},
): Promise<CapturedWire> {
  let first: CaughtRequest | undefined;
  const called = tools === undefined ? model : model.bindTools!(tools as never[]);
  const work = async () => {
    if (!streaming) {
      return called.invoke([...messages]);
    }
    for await (const _ of await called.stream([...messages])) {
      break;
    }
    return undefined;
  };
  const onRequest = (request: CaughtRequest) => {
    first ??= request;
    return refusal;
  };
  const failure = await withCaughtFetch(called, { onRequest, work }).then(
    () => undefined,
    (error: unknown) => error,
  );
  const place = first === undefined ? undefined : placeOf(first);
  if (first === undefined || place === undefined) {
    throw (
      failure ??
      new Error(`The model sent no request of a known form${first === undefined ? "" : ` (${first.url.pathname})`}.`)
    );
  }
  const body = fieldsIn(first.body);
  return { kind: place.kind, model: place.model ?? String(body["model"] ?? ""), body };
}

/** No client tries again what was refused with this status. */
const refusal = {
  status: 400,
  headers: { "content-type": "application/json", "x-amzn-errortype": "ValidationException" },
  body: JSON.stringify({ error: { code: 400, message: "caught", status: "INVALID_ARGUMENT" }, message: "caught" }),
};

/** The form of a request, and the model's name where the URL holds it; undefined for an unknown URL. */
export function placeOf({
  url,
  headers,
}: Pick<CaughtRequest, "url" | "headers">): { readonly kind: WireKind; readonly model?: string } | undefined {
  const path = decodeURIComponent(url.pathname);
  const gemini = /\/models\/([^/:]+):(?:stream)?generateContent$/i.exec(path);
  const bedrock = /^\/model\/(.+)\/converse(?:-stream)?$/.exec(path);
  if (gemini !== null) {
    return { kind: "gemini", model: gemini[1]! };
  }
  if (bedrock !== null) {
    return { kind: "bedrock", model: bedrock[1]! };
  }
  if (path.endsWith("/chat/completions")) {
    const isMistral = (headers["user-agent"] ?? "").startsWith("mistral-client") || url.hostname.includes("mistral");
    return { kind: isMistral ? "mistral" : "openai-chat" };
  }
  if (path.endsWith("/responses")) {
    return { kind: "openai-responses" };
  }
  return path.endsWith("/messages") ? { kind: "anthropic" } : undefined;
}
