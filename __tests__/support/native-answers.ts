import { AIMessage, AIMessageChunk } from "@langchain/core/messages";

/** What an answer says. */
export interface Said {
  readonly text: string;
  readonly thought: string;
  readonly args: Record<string, unknown>;
}

/** Answers in the forms that the adapters themselves make of a provider's response, captured from their calls. */
export const nativeAnswers: Readonly<Record<string, (said: Said) => AIMessage>> = {
  "openai chat": ({ text, args }) =>
    new AIMessage({
      id: "chatcmpl-1",
      content: text,
      tool_calls: [call("call_1", args), call("call_2", args)],
      additional_kwargs: { tool_calls: [raw("call_1", args), raw("call_2", args)] },
      response_metadata: {
        logprobs: { content: [{ token: text, logprob: -0.1, bytes: [84], top_logprobs: [] }] },
        model_provider: "openai",
      },
    }),
  "openai responses": (said) => responses(said),
  "openai responses v1": (said) => responses(said, "v1"),
  "openai responses streamed": ({ text, thought, args }) => {
    const { additional_kwargs, response_metadata } = responses({ text, thought, args });
    return new AIMessageChunk({
      id: "resp_1",
      content: [{ type: "reasoning", reasoning: thought, index: 0 } as never, { type: "text", text, index: 0 }],
      tool_call_chunks: ["call_1", "call_2"].map((id, index) => {
        return { type: "tool_call_chunk" as const, id, name: "lookup", args: JSON.stringify(args), index };
      }),
      additional_kwargs,
      response_metadata,
    });
  },
  anthropic: ({ text, thought, args }) =>
    new AIMessage({
      id: "msg_a",
      content: [
        { type: "thinking", thinking: thought, signature: "SIG" },
        { type: "redacted_thinking", data: "DATA" },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: text } },
        { type: "text", text, citations: [{ type: "char_location", cited_text: text, document_index: 0 }] },
        { type: "tool_use", id: "call_1", name: "lookup", input: args },
        { type: "tool_use", id: "call_2", name: "lookup", input: args },
      ] as never,
      tool_calls: [call("call_1", args), call("call_2", args)],
      response_metadata: { model_provider: "anthropic", stop_reason: "tool_use" },
    }),
  "anthropic v1": ({ text, thought, args }) =>
    new AIMessage({
      content: [
        { type: "reasoning", reasoning: thought, signature: "SIG" },
        { type: "text", text },
        { ...call("call_1", args) },
        { ...call("call_2", args) },
      ] as never,
      tool_calls: [call("call_1", args), call("call_2", args)],
      response_metadata: { model_provider: "anthropic", output_version: "v1" },
    }),
  google: ({ text, thought, args }) =>
    new AIMessage({
      content: [
        { thought: true, type: "text", text: thought },
        { type: "text", text },
        { thoughtSignature: "SIG", type: "functionCall", functionCall: { id: "call_1", name: "lookup", args } },
        { type: "functionCall", functionCall: { name: "lookup", args } },
      ] as never,
      tool_calls: [{ ...call("call_1", args), thoughtSignature: "SIG" } as never, call("call_2", args)],
      response_metadata: { model_provider: "google" },
    }),
  "google v1": ({ text, thought, args }) =>
    new AIMessage({
      content: [
        {
          thought: true,
          type: "reasoning",
          reasoning: thought,
          reasoningContentBlock: { type: "text", text: thought },
        },
        { type: "text", text },
        { ...call("call_1", args) },
        { ...call("call_2", args) },
      ] as never,
      tool_calls: [{ ...call("call_1", args), thoughtSignature: "SIG" } as never, call("call_2", args)],
      additional_kwargs: { originalTextContentBlock: { type: "text", text } },
      response_metadata: { model_provider: "google", output_version: "v1" },
    }),
  "google-genai": ({ text, thought, args }) =>
    new AIMessage({
      content: [
        { type: "thinking", thinking: thought },
        { type: "text", text },
        { type: "functionCall", functionCall: { id: "call_1", name: "lookup", args } },
        { type: "functionCall", functionCall: { name: "lookup", args } },
      ] as never,
      tool_calls: [call("call_1", args), call("call_2", args)],
      additional_kwargs: { __gemini_function_call_thought_signatures__: { call_1: "SIG" } },
    }),
  mistral: ({ text, thought, args }) =>
    new AIMessage({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: thought }] },
        { type: "text", text },
      ] as never,
      tool_calls: [call("call_1", args), call("call_2", args)],
    }),
  bedrock: ({ text, thought, args }) =>
    new AIMessage({
      content: [
        { type: "reasoning", reasoning: thought, signature: "SIG" },
        { type: "text", text },
      ] as never,
      tool_calls: [call("call_1", args), call("call_2", args)],
      response_metadata: { model_provider: "bedrock-converse" },
    }),
  deepseek: ({ text, thought, args }) =>
    new AIMessage({
      content: text,
      tool_calls: [call("call_1", args), call("call_2", args)],
      additional_kwargs: {
        tool_calls: [raw("call_1", args), raw("call_2", args)],
        reasoning_content: thought,
      },
      response_metadata: { model_provider: "deepseek" },
    }),
};

function call(id: string, args: Record<string, unknown>) {
  return { type: "tool_call" as const, id, name: "lookup", args };
}

function raw(id: string, args: Record<string, unknown>) {
  return { id, type: "function" as const, function: { name: "lookup", arguments: JSON.stringify(args) } };
}

function responses({ text, thought, args }: Said, version?: "v1"): AIMessage {
  const reasoning = {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: thought }],
    encrypted_content: "ENC",
  };
  const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: text } };
  const output = [
    reasoning,
    search,
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] },
    ...["1", "2"].map((nth) => {
      const named = { id: `fc_${nth}`, call_id: `call_${nth}`, name: "lookup" };
      return { type: "function_call", ...named, arguments: JSON.stringify(args) };
    }),
  ];
  const standard = [
    { type: "reasoning", reasoning: thought, id: "rs_1", encrypted_content: "ENC" },
    { type: "text", text, annotations: [] },
    { ...call("call_1", args) },
    { ...call("call_2", args) },
  ];
  const own = [
    { type: "reasoning", reasoning: thought },
    { type: "text", text, annotations: [] },
  ];
  return new AIMessage({
    id: "resp_1",
    content: (version === "v1" ? standard : own) as never,
    tool_calls: [call("call_1", args), call("call_2", args)],
    additional_kwargs: {
      reasoning,
      tool_outputs: [search],
      __openai_function_call_ids__: { call_1: "fc_1", call_2: "fc_2" },
    },
    response_metadata: { model_provider: "openai", output, ...(version && { output_version: version }) },
  });
}
