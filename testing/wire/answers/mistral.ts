import { type AnsweredRequest, argumentsOf, halves, type ProviderReply, type RenderedAnswer } from "./answer.js";

/** Mistral's answer; a thought is a part of the content in front of its text. */
export function answerAsMistral(reply: ProviderReply, { model, count }: AnsweredRequest): RenderedAnswer {
  const { content = "", thinking, toolCalls = [] } = reply;
  const thought = { type: "thinking", thinking: [{ type: "text", text: thinking }] };
  const said =
    thinking === undefined ? content : [thought, ...(content === "" ? [] : [{ type: "text", text: content }])];
  const tool_calls = toolCalls.map(({ id, name, arguments: given }, place) => ({
    id: id ?? `m${String(count).padStart(6, "0")}${String(place).padStart(2, "0")}`,
    type: "function",
    function: { name, arguments: argumentsOf(given).json },
    index: place,
  }));
  const finish_reason = tool_calls.length > 0 ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
  const head = { id: `mistral-${count}`, created: 1_790_000_000, model };
  const called = tool_calls.length > 0 ? { tool_calls } : {};
  const chunk = (delta: object, finish: string | null = null) => ({
    data: {
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...(finish === null ? {} : { usage }),
    },
  });
  const message = { role: "assistant", content: said, ...called, prefix: false };
  return {
    whole: { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage },
    events: [
      chunk({ role: "assistant", content: "" }),
      ...(thinking === undefined ? [] : [chunk({ content: [thought] })]),
      ...halves(content).map((piece) => chunk({ content: piece })),
      ...(tool_calls.length > 0 ? [chunk({ content: "", tool_calls })] : []),
      chunk({ content: "" }, finish_reason),
    ],
  };
}
