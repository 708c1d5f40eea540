import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { checkChatCompletionRequest } from "./openai-server/check-request.js";
import {
  answerChunks,
  complete,
  wholeAnswer,
  type Completion,
  type ScriptedReply,
} from "./openai-server/completion.js";
import type { ChatCompletionRefusal } from "./openai-server/refusal.js";
import { type LocalRequest, sendJson, startLocalServer } from "./local-server.js";

/** A request that the test server received. */
export interface ReceivedRequest {
  /** The parsed body; undefined if it was not JSON. */
  readonly body: Record<string, unknown> | undefined;
  /** Why it was refused; undefined if it was accepted. */
  readonly refusal: ChatCompletionRefusal | undefined;
}

/** How the test server answers. */
export interface OpenAIServerOptions {
  /**
   * Returns the model's answer to an accepted request; `count` is the number of requests so far, from 1.
   * @default the text `ok`
   */
  readonly reply?: (
    body: Record<string, unknown>,
    count: number,
  ) => string | ScriptedReply | Promise<string | ScriptedReply>;
  /** The port, for a server that a program outside of the test connects to. @default a free one */
  readonly port?: number;
}

/** A running test server. */
export interface OpenAIServer {
  /** The base URL for clients: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  /** Every request received, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Closes the server and all its connections. */
  close(): Promise<void>;
}

/**
 * Starts a server on a free loopback port that speaks OpenAI's chat-completions protocol, with and without streaming,
 * to test ChatOpenAI without a key or a network. It refuses what the service refuses, with the same status and message
 * (see {@link checkChatCompletionRequest}), and answers accepted requests with scripted replies.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { startOpenAIServer, type OpenAIServerOptions } from "langchain-redis-memory/testing";
 *
 * const reply: OpenAIServerOptions["reply"] = (_body, count) =>
 *   count === 1 ? { toolCalls: [{ name: "lookup" }] } : "done";
 * const server = await startOpenAIServer({ reply });
 * const model = new ChatOpenAI({ apiKey: "none", configuration: { baseURL: server.url } });
 */
export async function startOpenAIServer(options: OpenAIServerOptions = {}): Promise<OpenAIServer> {
  const { reply = () => "ok", port } = options;
  const requests: ReceivedRequest[] = [];
  const respond = async (request: LocalRequest, response: ServerResponse) =>
    answer({ request, response, requests, reply });
  const { url, close } = await startLocalServer(respond, port);
  return { url: `${url}/v1`, requests, close };
}

interface Exchange {
  readonly request: LocalRequest;
  readonly response: ServerResponse;
  readonly requests: ReceivedRequest[];
  readonly reply: NonNullable<OpenAIServerOptions["reply"]>;
}

async function answer({ request, response, requests, reply }: Exchange): Promise<void> {
  const { method, url, body } = request;
  if (method !== "POST" || url.pathname !== "/v1/chat/completions") {
    return sendError(response, { status: 404, error: invalid(`Invalid URL (${method} ${url.pathname})`) });
  }
  if (!/^Bearer .+/.test(request.headers.authorization ?? "")) {
    return sendError(response, { status: 401, error: invalid("You didn't provide an API key.") });
  }
  const refusal = checkChatCompletionRequest(body);
  requests.push({ body: body as Record<string, unknown> | undefined, refusal });
  if (refusal !== undefined) {
    return sendError(response, { status: 400, error: refusal });
  }
  const accepted = body as Record<string, unknown>;
  const count = requests.length;
  const given = await reply(accepted, count);
  const scripted = typeof given === "string" ? { content: given } : given;
  if (scripted.failure !== undefined) {
    const { status, message } = scripted.failure;
    return sendError(response, { status, error: { message, type: "server_error", param: null, code: null } });
  }
  const { chunkDelayMs = 0 } = scripted;
  await send(response, { completion: complete(scripted, { body: accepted, count }), body: accepted, chunkDelayMs });
}

interface Answer {
  readonly completion: Completion;
  readonly body: Record<string, unknown>;
  readonly chunkDelayMs: number;
}

async function send(response: ServerResponse, { completion, body, chunkDelayMs }: Answer): Promise<void> {
  if (body["stream"] !== true) {
    return sendJson(response, 200, wholeAnswer(completion));
  }
  const includeUsage = (body["stream_options"] as { include_usage?: unknown } | undefined)?.include_usage === true;
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  for (const chunk of answerChunks(completion, { includeUsage })) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (chunkDelayMs > 0) {
      await setTimeout(chunkDelayMs);
    }
    if (response.destroyed) {
      return;
    }
  }
  response.end("data: [DONE]\n\n");
}

function sendError(
  response: ServerResponse,
  { status, error }: { readonly status: number; readonly error: object },
): void {
  sendJson(response, status, { error });
}

function invalid(message: string): ChatCompletionRefusal {
  return { message, type: "invalid_request_error", param: null, code: null };
}
