import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { inForm } from "../../messages/change-message.js";
import { type Block, blockList, isStandardContent, shortContentOf } from "../../messages/content.js";
import { mapSame } from "../../messages/copies/edits.js";
import { type Fields, fieldsOf, isRecord, recordsIn, without } from "../../messages/values.js";

/** An adapter's form of one block of an answer; strings are passed as text blocks. */
export type BlockForm = (block: Block) => readonly Block[];

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
  return withoutNamelessCalls(withoutDoubles(message));
}

function withoutNamelessCalls(message: BaseMessage): BaseMessage {
  const { tool_calls: valid, invalid_tool_calls: invalid } = message as AIMessage;
  const isNamed = ({ id, name }: { readonly id?: unknown; readonly name?: unknown }) =>
    typeof id === "string" || (typeof name === "string" && name !== "");
  const lists = { tool_calls: recordsIn(valid), invalid_tool_calls: recordsIn(invalid) };
  const named = {
    tool_calls: lists.tool_calls.filter(isNamed),
    invalid_tool_calls: lists.invalid_tool_calls.filter(isNamed),
  };
  const isSame =
    named.tool_calls.length === lists.tool_calls.length &&
    named.invalid_tool_calls.length === lists.invalid_tool_calls.length;
  return isSame ? message : inForm(message, named);
}

/** In standard content, each call of ChatGoogle's with an id stands beside its double. */
function withoutDoubles(message: BaseMessage): BaseMessage {
  const calls = recordsIn((message as AIMessage).tool_calls);
  const callsWithIds = calls.filter(({ id }) => typeof id === "string");
  const isDoubled = isStandardContent(message) && callsWithIds.length > 0 && callsWithIds.length < calls.length;
  return isDoubled ? inForm(message, { tool_calls: callsWithIds }) : message;
}

/** True for an answer with raw calls that its `tool_calls` do not tell: ChatOpenAI would send them in their place. */
export function hasForgottenCalls(message: BaseMessage): boolean {
  return Array.isArray(fieldsOf(message.additional_kwargs)["tool_calls"]) && callsOf(message).length === 0;
}
