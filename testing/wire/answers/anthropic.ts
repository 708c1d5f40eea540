import { bindsThoughts, placeAnswer, placeThoughts } from "../anthropic/prefix.js";
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

const source = { url: "https://example.com/found", title: "Found" };

/** Anthropic's answer, with signatures that are bound to the request where the model binds them. */
export function answerAsAnthropic(reply: ProviderReply, request: AnsweredRequest): RenderedAnswer {
  const content = blocksOf(reply, request);
  const { end } = placeThoughts(request.body);
  for (const { proof, prefix } of placeAnswer(content, end)) {
    request.memory.noteProof(proof!, bindsThoughts(request.model) ? prefix : undefined);
  }
  const stop_reason = (reply.toolCalls ?? []).length > 0 ? "tool_use" : "end_turn";
  const head = { id: `msg_${request.count}`, type: "message", role: "assistant", model: request.model };
  const usage = { input_tokens: 10, output_tokens: 10 };
  return {
    whole: { ...head, content, stop_reason, stop_sequence: null, usage },
    events: [
      named({
        type: "message_start",
        message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage },
      }),
      ...content.flatMap(blockEvents),
      named({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } }),
      named({ type: "message_stop" }),
    ],
  };
}

function blocksOf(reply: ProviderReply, request: AnsweredRequest): Fields[] {
  const { content = "", thinking, search, toolCalls = [] } = reply;
  const blocks: Fields[] = [];
  if (thinking !== undefined) {
    blocks.push({ type: "thinking", thinking, signature: signatureOf("anthropic", request) });
  }
  if (search !== undefined) {
    const id = `srvtoolu_${request.count}`;
    const found = { type: "web_search_result", ...source, encrypted_content: "ErIE", page_age: null };
    blocks.push({ type: "server_tool_use", id, name: "web_search", input: { query: search } });
    blocks.push({ type: "web_search_tool_result", tool_use_id: id, content: [found] });
  }
  if (content !== "") {
    const cited = { type: "web_search_result_location", ...source, encrypted_index: "Eo8B", cited_text: "Found" };
    blocks.push({ type: "text", text: content, ...(search === undefined ? {} : { citations: [cited] }) });
  }
  toolCalls.forEach(({ id, name, arguments: given }, place) => {
    const { input } = argumentsOf(given);
    blocks.push({ type: "tool_use", id: id ?? `toolu_${request.count}_${place}`, name, input });
  });
  return blocks;
}

function blockEvents(block: Fields, index: number): StreamEvent[] {
  const start = (content_block: object) => named({ type: "content_block_start", index, content_block });
  const delta = (change: object) => named({ type: "content_block_delta", index, delta: change });
  const stop = named({ type: "content_block_stop", index });
  switch (block["type"]) {
    case "thinking":
      return [
        start({ ...block, thinking: "", signature: "" }),
        ...halves(String(block["thinking"])).map((thinking) => delta({ type: "thinking_delta", thinking })),
        delta({ type: "signature_delta", signature: block["signature"] }),
        stop,
      ];
    case "text":
      return [
        start({ type: "text", text: "", ...(block["citations"] === undefined ? {} : { citations: [] }) }),
        ...halves(String(block["text"])).map((text) => delta({ type: "text_delta", text })),
        ...((block["citations"] as Fields[] | undefined) ?? []).map((citation) =>
          delta({ type: "citations_delta", citation }),
        ),
        stop,
      ];
    case "tool_use":
    case "server_tool_use":
      return [
        start({ ...block, input: {} }),
        ...halves(JSON.stringify(block["input"])).map((partial_json) =>
          delta({ type: "input_json_delta", partial_json }),
        ),
        stop,
      ];
    default:
      return [start(block), stop];
  }
}

function named(data: object): StreamEvent {
  return { event: String(fieldsIn(data)["type"]), data };
}
