import type { Fields } from "../json.js";
import {
  type AnsweredRequest,
  argumentsOf,
  halves,
  type ProviderReply,
  type RenderedAnswer,
  signatureOf,
} from "./answer.js";

/** The answer of OpenAI's Responses; nothing is stored where the request says `store: false`. */
export function answerAsResponses(reply: ProviderReply, request: AnsweredRequest): RenderedAnswer {
  const { body, memory } = request;
  const isStored = body["store"] !== false;
  const output = itemsOf(reply, { request, isStored });
  const [first] = output;
  const thought = first?.["type"] === "reasoning" ? String(first["id"]) : undefined;
  for (const { id } of output) {
    const needs = isStored && thought !== undefined && id !== thought ? { thought } : {};
    memory.noteItem(String(id), { isStored, ...needs });
  }
  const response = { ...responseOf(request), output, store: isStored };
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    ...output.flatMap(itemEvents),
    { type: "response.completed", response },
  ];
  return {
    whole: response,
    events: events.map((data, sequence_number) => ({ event: data.type, data: { ...data, sequence_number } })),
  };
}

/** The fields of a response beside its output. */
function responseOf({ count, model }: AnsweredRequest): Fields {
  return {
    id: `resp_${count}`,
    object: "response",
    created_at: 1_790_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model,
    parallel_tool_calls: true,
    text: { format: { type: "text" } },
    tools: [],
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 20,
    },
  };
}

interface Making {
  readonly request: AnsweredRequest;
  readonly isStored: boolean;
}

function itemsOf(reply: ProviderReply, { request, isStored }: Making): Fields[] {
  const { content = "", thinking, search, image, toolCalls = [] } = reply;
  const { count } = request;
  const items: Fields[] = [];
  if (thinking !== undefined) {
    const encrypted_content = signatureOf("openai", request);
    request.memory.noteProof(encrypted_content);
    const summary = [{ type: "summary_text", text: thinking }];
    items.push({ id: `rs_${count}`, type: "reasoning", summary, ...(isStored ? {} : { encrypted_content }) });
  }
  if (search !== undefined) {
    const action = { type: "search", query: search };
    items.push({ id: `ws_${count}`, type: "web_search_call", status: "completed", action });
  }
  if (image !== undefined) {
    items.push({ id: `ig_${count}`, type: "image_generation_call", status: "completed", result: image });
  }
  if (content !== "") {
    const cited = { type: "url_citation", start_index: 0, end_index: 1, url: "https://example.com", title: "Found" };
    const annotations = search === undefined ? [] : [cited];
    const part = { type: "output_text", text: content, annotations, logprobs: [] };
    items.push({ id: `msg_${count}`, type: "message", status: "completed", role: "assistant", content: [part] });
  }
  toolCalls.forEach(({ id, name, arguments: given }, place) => {
    const call = { id: `fc_${count}_${place}`, type: "function_call", status: "completed", name };
    items.push({ ...call, call_id: id ?? `call_${count}_${place}`, arguments: argumentsOf(given).json });
  });
  return items;
}

type ResponseEvent = { readonly type: string } & Fields;

function itemEvents(item: Fields, output_index: number): ResponseEvent[] {
  const item_id = item["id"];
  const place = { item_id, output_index };
  const done = { type: "response.output_item.done", output_index, item };
  const added = (begun: object) => ({ type: "response.output_item.added", output_index, item: { ...item, ...begun } });
  if (item["type"] === "reasoning") {
    const text = (item["summary"] as readonly { readonly text: string }[])[0]!.text;
    const at = { ...place, summary_index: 0 };
    return [
      added({ summary: [] }),
      { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
      ...halves(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, delta })),
      { type: "response.reasoning_summary_text.done", ...at, text },
      done,
    ];
  }
  if (item["type"] === "message") {
    return messageEvents(item, { place, frame: [added({ content: [], status: "in_progress" }), done] });
  }
  if (item["type"] === "function_call") {
    const given = String(item["arguments"]);
    return [
      added({ arguments: "", status: "in_progress" }),
      ...halves(given).map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta })),
      { type: "response.function_call_arguments.done", ...place, arguments: given },
      done,
    ];
  }
  return [added({}), done];
}

interface Framed {
  readonly place: Fields;
  /** The events before and behind the message's own. */
  readonly frame: readonly [ResponseEvent, ResponseEvent];
}

function messageEvents(item: Fields, { place, frame: [begin, end] }: Framed): ResponseEvent[] {
  const [part] = item["content"] as readonly { readonly text: string; readonly annotations: readonly object[] }[];
  const at = { ...place, content_index: 0 };
  return [
    begin,
    { type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } },
    ...halves(part!.text).map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
    ...part!.annotations.map((annotation, annotation_index) => ({
      type: "response.output_text.annotation.added",
      ...at,
      annotation_index,
      annotation,
    })),
    { type: "response.output_text.done", ...at, text: part!.text },
    end,
  ];
}
