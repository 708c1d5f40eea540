/** A call that a scripted reply makes. Arguments that are not text are sent as JSON. */
export interface ScriptedCall {
  /** @default `call_<request>_<place>` */
  readonly id?: string;
  /** The tool's name. */
  readonly name: string;
  /** The call's arguments. @default {} */
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

/** An answer of the test server's model: text, calls, or an error of the service. */
export interface ScriptedReply {
  /** The text of the answer. @default no text */
  readonly content?: string;
  /** Calls that the answer makes. @default none */
  readonly toolCalls?: readonly ScriptedCall[];
  /** Tokens to report. @default a quarter of the characters */
  readonly usage?: {
    /** Tokens of the request. */
    readonly promptTokens: number;
    /** Tokens of the answer. */
    readonly completionTokens: number;
  };
  /** Milliseconds between the chunks of a stream, so that a test can stop it. @default 0 */
  readonly chunkDelayMs?: number;
  /** Answers with this status and message instead, as the service does when it is busy (429) or broken (500). */
  readonly failure?: {
    /** The HTTP status, such as 429. */
    readonly status: number;
    /** The error's message. */
    readonly message: string;
  };
}

/** A reply that is ready to be sent, whole or as a stream. */
export interface Completion {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly content: string | null;
  readonly toolCalls: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

/** Converts a scripted reply to what the service sends for it. */
export function complete(
  reply: ScriptedReply,
  { body, count }: { readonly body: Record<string, unknown>; readonly count: number },
): Completion {
  const toolCalls = (reply.toolCalls ?? []).map(({ id, name, arguments: given = {} }, place) => ({
    id: id ?? `call_${count}_${place}`,
    type: "function" as const,
    function: { name, arguments: typeof given === "string" ? given : JSON.stringify(given) },
  }));
  const prompt = reply.usage?.promptTokens ?? tokensOf(JSON.stringify(body["messages"]));
  const completion = reply.usage?.completionTokens ?? tokensOf((reply.content ?? "") + JSON.stringify(toolCalls));
  return {
    id: `chatcmpl-test-${count}`,
    created: Math.floor(Date.now() / 1000),
    model: String(body["model"]),
    content: reply.content ?? (toolCalls.length > 0 ? null : ""),
    toolCalls,
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

/** Returns the answer to a request without `stream`. */
export function wholeAnswer({ id, created, model, content, toolCalls, usage }: Completion): object {
  const message = {
    role: "assistant",
    content,
    refusal: null,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: toolCalls.length > 0 ? "tool_calls" : "stop" };
  return { id, object: "chat.completion", created, model, choices: [choice], usage, system_fingerprint: null };
}

/**
 * Returns the chunks of the answer to a request with `stream`, in order; the last one contains the usage if the request
 * asks for it.
 */
export function answerChunks(completion: Completion, { includeUsage }: { readonly includeUsage: boolean }): object[] {
  const { id, created, model, content, toolCalls, usage } = completion;
  const frame = { id, object: "chat.completion.chunk", created, model, system_fingerprint: null };
  const chunk = (delta: object, finish: string | null = null) => ({
    ...frame,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const called = toolCalls.flatMap((call, index) => callDeltas(call, index));
  return [
    chunk({ role: "assistant", content: toolCalls.length > 0 && content === null ? null : "", refusal: null }),
    ...pieces(content ?? "").map((piece) => chunk({ content: piece })),
    ...called.map((delta) => chunk({ tool_calls: [delta] })),
    chunk({}, toolCalls.length > 0 ? "tool_calls" : "stop"),
    ...(includeUsage ? [{ ...frame, choices: [], usage }] : []),
  ];
}

/** Name and id come first, arguments in pieces. */
function callDeltas({ id, type, function: called }: Completion["toolCalls"][number], index: number): object[] {
  const first = { index, id, type, function: { name: called.name, arguments: "" } };
  return [first, ...pieces(called.arguments).map((piece) => ({ index, function: { arguments: piece } }))];
}

/** Splits a text into pieces of a few characters, without splitting a character. */
function pieces(text: string): string[] {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / 8) }, (_, index) =>
    characters.slice(index * 8, index * 8 + 8).join(""),
  );
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}
