import type { BaseMessage } from "@langchain/core/messages";
import { metaOf } from "../../../src/store/codec/decode-record.js";
import { answeredId, callsOf, type Call } from "../../../src/conversation/messages/content.js";
import { refusedMarkOf, roleNameOf, roleOf, stringIn } from "../../../src/conversation/messages/message.js";
import { jsonText } from "../../../src/base/json-text.js";
import { countOf, type TokenCounter } from "../../../src/conversation/tokens/counted-messages.js";
import type { ShownCall, ShownMessage } from "../model/data.js";
import type { LogItem } from "./log-reader.js";
import { cutText, readableText } from "./readable-text.js";
import { foldedLength, partsOf } from "./shown-parts.js";

const longestName = 200;
const mostCalls = 100;

/** A stored message as the page shows it; `position` is undefined for one of the head. */
export async function showMessage(
  { record, message, problem }: LogItem,
  { position, counter }: { readonly position: number | undefined; readonly counter: TokenCounter },
): Promise<ShownMessage> {
  const { at } = metaOf(record);
  const place = { ...(position !== undefined && { position }), ...(at !== undefined && { at }) };
  if (message === undefined) {
    const { text, length } = cutText(record, { limit: foldedLength });
    const parts = [{ kind: "other" as const, what: "record", text, length }];
    return { ...place, role: "unreadable", type: "unreadable", tokens: 0, parts, calls: [], problem: problem ?? "" };
  }
  const { id, name } = message;
  const [answers, status, details] = [answeredId(message), stringIn(fieldOf(message, "status")), detailsOf(message)];
  return {
    ...place,
    role: roleOf(message),
    type: short(roleNameOf(message)),
    ...(id !== undefined && { id: short(id) }),
    ...(name !== undefined && { name: short(name) }),
    tokens: await countOf(counter, message),
    parts: [...partsOf(message), ...refusalIn(message)],
    calls: callsOf(message).slice(0, mostCalls).map(showCall),
    ...(answers !== undefined && { answers: short(answers) }),
    ...(status !== undefined && { status: short(status) }),
    ...(details !== undefined && { details }),
  };
}

/** The mark of a refused request, as text: the message itself has none. */
function refusalIn(message: BaseMessage): ShownMessage["parts"] {
  const mark = refusedMarkOf(message);
  if (mark === undefined) {
    return [];
  }
  const why = mark.reason === "too_long" ? "as too long" : `for good${mark.status ? ` (${mark.status})` : ""}`;
  const text = `The model's provider refused this request ${why}; later requests go out without it.`;
  return [{ kind: "other", what: "refused", text, length: text.length }];
}

/** The whole text of a call's arguments. */
export function textOfCall(message: BaseMessage, index: number): string | undefined {
  const call = callsOf(message)[index];
  return call === undefined ? undefined : argsOf(call);
}

function showCall(call: Call): ShownCall {
  const { id, name, readable } = call;
  const { text: args, length } = cutText(argsOf(call), { limit: foldedLength });
  return { ...(id !== undefined && { id: short(id) }), name: short(name), args, length, readable };
}

function argsOf({ args }: Call): string {
  return typeof args === "string" ? args : indented(args);
}

function indented(value: unknown): string {
  const text = jsonText(value);
  return text === undefined ? "" : JSON.stringify(JSON.parse(text), undefined, 2);
}

/** Metadata of a message. */
function detailsOf(message: BaseMessage): string | undefined {
  const fields = ["usage_metadata", "additional_kwargs", "response_metadata", "artifact", "metadata"];
  const entries = fields.map((field) => [field, fieldOf(message, field)] as const);
  const filled = entries.filter(([, value]) => {
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    return value !== undefined && value !== null && !isEmpty;
  });
  return filled.length === 0 ? undefined : cutText(indented(Object.fromEntries(filled)), { limit: foldedLength }).text;
}

function fieldOf(message: BaseMessage, field: string): unknown {
  return (message as unknown as Readonly<Record<string, unknown>>)[field];
}

function short(text: unknown): string {
  return readableText(String(text)).slice(0, longestName);
}
