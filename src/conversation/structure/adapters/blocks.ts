import type { BaseMessage, AIMessage } from "@langchain/core/messages";
import {
  callsOf,
  blockList,
  isStandardContent,
  shortContentOf,
  compactionIn,
  foreignCompaction,
  isCompaction,
  nativeBlock,
  contentOf,
  saysNothing,
} from "../../messages/content.js";
import type { Block } from "../../messages/content.js";
import { inForm } from "../../messages/change-message.js";
import { mapSame, withFields } from "../../messages/copies/plain-answer.js";
import { type Fields, fieldsOf, isRecord, recordsIn, without } from "../../messages/message.js";
import { summaryMessage } from "../../messages/summary-message.js";
import type { Adapter } from "./adapter.js";

/** An adapter's form of one block of an answer; strings are passed as text blocks. */
type BlockForm = (block: Block) => readonly Block[];

/** The message with other fields; itself if they are its own. */
export function withForm<M extends BaseMessage>(message: M, fields: Fields): M {
  const own = message as unknown as Fields;
  const isNew = ([key, value]: readonly [string, unknown]) =>
    own[key] !== value && !(own[key] === undefined && isRecord(value) && Object.keys(value).length === 0);
  const changed = Object.entries(fields).filter(isNew);
  return changed.length === 0 ? message : inForm(message, Object.fromEntries(changed));
}

/** The content with each block in its form; the same value if all blocks stay. A text has no blocks, and stays. */
export function formedContent(content: unknown, form: BlockForm): unknown {
  if (!Array.isArray(content)) {
    return content;
  }
  const formed = mapSame(blockList({ content }), (block) => form(block));
  const isSame = formed === content && formed.length > 0;
  return isSame ? content : shortContentOf(formed);
}

/** True for a text of the answer, and no thought. */
export function isText(block: Block): boolean {
  return block.type === "text" && block["thought"] !== true && typeof block["text"] === "string";
}

/** The response metadata without LangChain's mark of standard content. */
export function unmarked(message: BaseMessage): Fields {
  return without(fieldsOf(message.response_metadata), "output_version");
}

/**
 * The answer without calls that nobody made: ChatGoogle makes two of each call in standard content, of which one has no
 * id, and ChatAnthropic makes a streamed step of Anthropic's own tools a call without id and name.
 */
export function withoutMadeUpCalls(message: BaseMessage): BaseMessage {
  const { tool_calls: valid, invalid_tool_calls: invalid } = message as AIMessage;
  const lists = [recordsIn(valid), recordsIn(invalid)] as const;
  const hasId = ({ id }: { readonly id?: unknown }) => typeof id === "string";
  const hasDoubles = isStandardContent(message) && lists[0].some(hasId);
  const isNamed = ({ name }: { readonly name?: unknown }) => typeof name === "string" && name !== "";
  const calls = lists[0].filter((call) => hasId(call) || (!hasDoubles && isNamed(call)));
  const invalidCalls = lists[1].filter((call) => hasId(call) || isNamed(call));
  const isSame = calls.length === lists[0].length && invalidCalls.length === lists[1].length;
  return isSame ? message : inForm(message, { tool_calls: calls, invalid_tool_calls: invalidCalls });
}

/** True for an answer with raw calls that its `tool_calls` do not tell: ChatOpenAI would send them in their place. */
export function hasForgottenCalls(message: BaseMessage): boolean {
  return Array.isArray(fieldsOf(message.additional_kwargs)["tool_calls"]) && callsOf(message).length === 0;
}

/** The answer as a summary and what it says besides; undefined where the adapter reads it, or nobody else can. */
export function asSummary(message: BaseMessage, adapter: Adapter): readonly BaseMessage[] | undefined {
  const text = foreignCompaction(message, adapter)?.text;
  if (text === undefined) {
    return undefined;
  }
  const rest = withoutCompaction(message);
  const { id } = message;
  const isAll = saysNothing(rest);
  const own = isAll || id === undefined ? id : `${id}-summary`;
  const source = { replaced: [], covered: [] };
  const summary = summaryMessage(text, { id: own, role: "human", source });
  return isAll ? [summary] : [summary, rest];
}

const opened = new WeakMap<BaseMessage, BaseMessage>();

/** The answer without its compaction, for another provider; the same object for the same answer. */
export function withoutCompaction(message: BaseMessage): BaseMessage {
  if (compactionIn(message) === undefined) {
    return message;
  }
  const form = opened.get(message) ?? withoutParts(message);
  opened.set(message, form);
  return form;
}

function withoutParts(message: BaseMessage): BaseMessage {
  const metadata = fieldsOf(message.response_metadata);
  const kwargs = fieldsOf(message.additional_kwargs);
  const isOther = (block: unknown) => !isCompaction(nativeBlock(block));
  return inForm(message, {
    ...(Array.isArray(message.content) && { content: contentOf(blockList(message).filter(isOther)) }),
    response_metadata: withList(metadata, "output", isOther),
    additional_kwargs: withList(kwargs, "tool_outputs", isOther),
  });
}

/** The fields with the elements of a list that are to stay; without the list if none does. */
function withList(fields: Fields, key: string, stays: (element: unknown) => boolean): Fields {
  const list = fields[key];
  const left = Array.isArray(list) ? list.filter(stays) : [];
  return Array.isArray(list) ? withFields(fields, { [key]: left.length > 0 ? left : undefined }) : fields;
}
