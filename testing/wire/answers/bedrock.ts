import { type Fields, fieldsIn } from "../json.js";
import {
  type AnsweredRequest,
  argumentsOf,
  halves,
  type ProviderReply,
  type RenderedAnswer,
  signatureOf,
  type StreamEvent,
} from "./answer.js";

/** The answer of Bedrock's Converse. */
export function answerAsBedrock(reply: ProviderReply, request: AnsweredRequest): RenderedAnswer {
  const { content: said = "", thinking, toolCalls = [] } = reply;
  const content: Fields[] = [];
  if (thinking !== undefined) {
    const signature = signatureOf("bedrock", request);
    request.memory.noteProof(signature);
    content.push({ reasoningContent: { reasoningText: { text: thinking, signature } } });
  }
  if (said !== "") {
    content.push({ text: said });
  }
  toolCalls.forEach(({ id, name, arguments: given }, place) => {
    const toolUseId = id ?? `tooluse_${request.count}_${place}`;
    content.push({ toolUse: { toolUseId, name, input: argumentsOf(given).input } });
  });
  const stopReason = toolCalls.length > 0 ? "tool_use" : "end_turn";
  const usage = { inputTokens: 10, outputTokens: 10, totalTokens: 20 };
  const metrics = { latencyMs: 1 };
  return {
    whole: { output: { message: { role: "assistant", content } }, stopReason, usage, metrics },
    events: [
      { event: "messageStart", data: { role: "assistant" } },
      ...content.flatMap(blockEvents),
      { event: "messageStop", data: { stopReason } },
      { event: "metadata", data: { usage, metrics } },
    ],
  };
}

function blockEvents(block: Fields, contentBlockIndex: number): StreamEvent[] {
  const delta = (change: object) => ({ event: "contentBlockDelta", data: { delta: change, contentBlockIndex } });
  const stop = { event: "contentBlockStop", data: { contentBlockIndex } };
  const { text, toolUse, reasoningContent } = block;
  if (typeof text === "string") {
    return [...halves(text).map((piece) => delta({ text: piece })), stop];
  }
  if (reasoningContent !== undefined) {
    const { text: thought, signature } = fieldsIn(fieldsIn(reasoningContent)["reasoningText"]);
    return [
      ...halves(String(thought)).map((piece) => delta({ reasoningContent: { text: piece } })),
      delta({ reasoningContent: { signature } }),
      stop,
    ];
  }
  const { toolUseId, name, input } = fieldsIn(toolUse);
  return [
    { event: "contentBlockStart", data: { start: { toolUse: { toolUseId, name } }, contentBlockIndex } },
    ...halves(JSON.stringify(input)).map((piece) => delta({ toolUse: { input: piece } })),
    stop,
  ];
}
