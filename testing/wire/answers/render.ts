import { answerChunks, complete, wholeAnswer } from "../../openai-server/completion.js";
import type { WireKind } from "../findings.js";
import { fieldsIn } from "../json.js";
import { answerAsAnthropic } from "./anthropic.js";
import type { AnsweredRequest, ProviderReply, RenderedAnswer, StreamEvent } from "./answer.js";
import { answerAsBedrock } from "./bedrock.js";
import { eventFrame } from "./event-stream.js";
import { answerAsGemini } from "./gemini.js";
import { answerAsMistral } from "./mistral.js";
import { answerAsResponses } from "./openai-responses.js";

const renderers: Readonly<Record<WireKind, (reply: ProviderReply, request: AnsweredRequest) => RenderedAnswer>> = {
  "openai-chat": answerAsChat,
  "openai-responses": answerAsResponses,
  anthropic: answerAsAnthropic,
  gemini: answerAsGemini,
  mistral: answerAsMistral,
  bedrock: answerAsBedrock,
};

/** A reply in the words of a provider. */
export function renderAnswer(kind: WireKind, reply: ProviderReply, request: AnsweredRequest): RenderedAnswer {
  return renderers[kind](reply, request);
}

/** The pieces of a streamed answer, as they are written to the socket. */
export function streamPieces(kind: WireKind, events: readonly StreamEvent[]): readonly (string | Uint8Array)[] {
  if (kind === "bedrock") {
    return events.map(eventFrame);
  }
  const pieces = events.map(({ event, data }) => {
    const name = event === undefined ? "" : `event: ${event}\n`;
    return `${name}data: ${JSON.stringify(data)}\n\n`;
  });
  return kind === "openai-chat" || kind === "mistral" ? [...pieces, "data: [DONE]\n\n"] : pieces;
}

/** The type of a streamed answer. */
export function streamType(kind: WireKind): string {
  return kind === "bedrock" ? "application/vnd.amazon.eventstream" : "text/event-stream";
}

/** A thought stands in `reasoning_content`, as with DeepSeek. */
function answerAsChat(reply: ProviderReply, { body, count }: AnsweredRequest): RenderedAnswer {
  const completion = complete(reply, { body, count });
  const whole = fieldsIn(wholeAnswer(completion));
  const events = answerChunks(completion, { includeUsage: true }).map((data) => ({ data }));
  if (reply.thinking === undefined) {
    return { whole, events };
  }
  const reasoning = { reasoning_content: reply.thinking };
  const [choice] = whole["choices"] as [{ readonly message: object }];
  const [first, ...rest] = events;
  const frame = fieldsIn(first!.data);
  const thought = {
    ...frame,
    choices: [{ index: 0, delta: { role: "assistant", ...reasoning }, finish_reason: null }],
  };
  return {
    whole: { ...whole, choices: [{ ...choice, message: { ...choice.message, ...reasoning } }] },
    events: [first!, { data: thought }, ...rest],
  };
}
