import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { type LocalRequest, sendJson, startLocalServer } from "./local-server.js";
import type { ProviderReply, RenderedAnswer } from "./wire/answers/answer.js";
import { renderAnswer, streamPieces, streamType } from "./wire/answers/render.js";
import { placeOf } from "./wire/capture-wire.js";
import { checkWire } from "./wire/check-wire.js";
import type { WireKind, WireViolation } from "./wire/findings.js";
import { type Fields, fieldsIn } from "./wire/json.js";
import { ProviderMemory } from "./wire/provider-memory.js";

/** A request that {@link startProviderServer}'s server received. */
export interface ProviderRequest {
  /** The parsed body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The rules that it breaks; empty if it was accepted. */
  readonly violations: readonly WireViolation[];
}

/** The provider, and how its model answers. */
export interface ProviderServerOptions {
  /** The form of request that the server speaks. */
  readonly kind: WireKind;
  /**
   * Returns the model's answer to an accepted request; `count` is the number of requests so far, from 1.
   * @default the text `ok`
   */
  readonly reply?: (
    body: Readonly<Record<string, unknown>>,
    count: number,
  ) => string | ProviderReply | Promise<string | ProviderReply>;
}

/** A running server that stands for a provider. */
export interface ProviderServer {
  /** The base URL, without the version: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Every request received, oldest first. */
  readonly requests: readonly ProviderRequest[];
  /** Closes the server and all its connections. */
  close(): Promise<void>;
}

/**
 * Starts a server on a free loopback port that stands for a provider, with and without streaming, to test a chat model
 * without a key or a network. It refuses with status 400 what {@link checkWire} finds, as the provider does, and knows
 * the thoughts and items that it gave out: a thought of a model of Claude's that binds them is refused behind another
 * prefix than the one it was made to.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import { startProviderServer } from "langchain-redis-memory/testing";
 * import type { ProviderRequest, ProviderServerOptions } from "langchain-redis-memory/testing";
 *
 * const reply: ProviderServerOptions["reply"] = () => ({ thinking: "A greeting.", content: "Hello!" });
 * const server = await startProviderServer({ kind: "anthropic", reply });
 * const model = new ChatAnthropic({ model: "claude-opus-5-5", apiKey: "none", anthropicApiUrl: server.url });
 * await model.invoke("Hi");
 * const refused = ({ violations }: ProviderRequest) => violations.length > 0;
 * const isSound = !server.requests.some(refused);
 */
export async function startProviderServer({
  kind,
  reply = () => "ok",
}: ProviderServerOptions): Promise<ProviderServer> {
  const requests: ProviderRequest[] = [];
  const memory = new ProviderMemory();
  const { url, close } = await startLocalServer((request, response) => {
    return answer({ kind, reply, requests, memory, request, response });
  });
  return { url, requests, close };
}

interface Exchange extends Required<ProviderServerOptions> {
  readonly requests: ProviderRequest[];
  readonly memory: ProviderMemory;
  readonly request: LocalRequest;
  readonly response: ServerResponse;
}

async function answer({ kind, reply, requests, memory, request, response }: Exchange): Promise<void> {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const place = placeOf({ url: request.url, headers });
  if (place === undefined || kindOf(place.kind, kind) !== kind) {
    return refuse(response, { kind, status: 404, message: `Not found: ${request.url.pathname}` });
  }
  const body = fieldsIn(request.body);
  const model = place.model ?? String(body["model"] ?? "");
  const violations = checkWire(kind, body, { model, memory });
  requests.push({ body, violations });
  if (violations.length > 0) {
    return refuse(response, { kind, status: 400, message: violations[0]!.message });
  }
  const count = requests.length;
  const given = await reply(body, count);
  const scripted = typeof given === "string" ? { content: given } : given;
  if (scripted.failure !== undefined) {
    return refuse(response, { kind, ...scripted.failure });
  }
  const rendered = renderAnswer(kind, scripted, { body, model, count, memory });
  return asksForStream(request.url, body)
    ? stream(response, { kind, rendered, delay: scripted.chunkDelayMs ?? 0 })
    : sendJson(response, 200, rendered.whole);
}

/** Requests of two forms go to one path. */
function kindOf(found: WireKind, expected: WireKind): WireKind {
  return found === "openai-chat" && expected === "mistral" ? expected : found;
}

/** Gemini and Bedrock say it in the path. */
function asksForStream({ pathname }: URL, body: Fields): boolean {
  return body["stream"] === true || /:streamGenerateContent$|\/converse-stream$/i.test(pathname);
}

async function stream(
  response: ServerResponse,
  { kind, rendered, delay }: { readonly kind: WireKind; readonly rendered: RenderedAnswer; readonly delay: number },
): Promise<void> {
  response.writeHead(200, { "content-type": streamType(kind), "cache-control": "no-cache" });
  for (const piece of streamPieces(kind, rendered.events)) {
    response.write(piece);
    if (delay > 0) {
      await setTimeout(delay);
    }
    if (response.destroyed) {
      return;
    }
  }
  response.end();
}

interface Refusal {
  readonly kind: WireKind;
  readonly status: number;
  readonly message: string;
}

/** An error in the provider's words. */
function refuse(response: ServerResponse, { kind, status, message }: Refusal): void {
  const type = status === 400 ? "invalid_request_error" : "api_error";
  switch (kind) {
    case "anthropic":
      return sendJson(response, status, { type: "error", error: { type, message } });
    case "gemini":
      return sendJson(response, status, { error: { code: status, message, status: "INVALID_ARGUMENT" } });
    case "mistral":
      return sendJson(response, status, { object: "error", message, type, param: null, code: null });
    case "bedrock":
      return sendJson(response, status, { message }, { "x-amzn-errortype": "ValidationException" });
    default:
      return sendJson(response, status, { error: { message, type, param: null, code: null } });
  }
}
