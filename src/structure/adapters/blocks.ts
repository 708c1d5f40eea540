import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../base/json-text.js";
import { callsOf } from "../../messages/calls.js";
import { inForm } from "../../messages/change-message.js";
import { type Block, contentOf, textBlock } from "../../messages/content.js";
import { isCallBlock } from "../../messages/copies/call-places.js";
import { mapSame } from "../../messages/copies/edits.js";
import { isThought, signatureKey } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf, isRecord, recordsIn, stringIn, without } from "../../messages/values.js";
import { mediaIn, mediaLeftOut } from "../../messages/media.js";

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

/** The blocks of list content, strings as text blocks: the list itself where it holds nothing but blocks. */
export function blockList({ content }: { readonly content: unknown }): readonly Block[] {
  if (!Array.isArray(content)) {
    return [];
  }
  return mapSame(content as readonly unknown[], (block) =>
    typeof block === "string" ? [textBlock(block)] : isRecord(block) ? [block] : [],
  ) as readonly Block[];
}

/** The content with each block in its form; the same value if all blocks stay. A text has no blocks, and stays. */
export function formedContent(content: unknown, form: BlockForm): unknown {
  if (!Array.isArray(content)) {
    return content;
  }
  const formed = mapSame(blockList({ content }), (block) => form(block));
  const isSame = formed === content && formed.length > 0;
  return isSame ? content : shortened(formed);
}

/** A single text needs no list. */
function shortened(blocks: readonly Block[]): string | Block[] {
  const [first] = blocks;
  return blocks.length === 1 && isPlainText(first!) ? (first!["text"] as string) : contentOf(blocks);
}

function isPlainText(block: Block): boolean {
  return block.type === "text" && typeof block["text"] === "string" && Object.keys(block).length === 2;
}

/** Keys that adapters put on a text for themselves. */
const textNotes = ["index", "annotations", "citations", "logprobs", "parsed", "phase", "id", signatureKey];

/** A text block without the notes of the adapter that made it. */
export function bareText(block: Block): Block {
  return without(block, ...textNotes);
}

/** True for a text of the answer, and no thought. */
export function isText(block: Block): boolean {
  return block.type === "text" && block["thought"] !== true && typeof block["text"] === "string";
}

/**
 * The text that a block says to every adapter: its own for texts, a note for pictures and other media, the summary of a
 * compacted conversation. Thoughts, calls, and the steps of a provider's own tools are left out.
 */
export const plainBlock: BlockForm = (block) => {
  if (block.type === "non_standard" && isRecord(block["value"])) {
    return plainBlock(block["value"] as Block);
  }
  if (isThought(block) || isCallBlock(block)) {
    return [];
  }
  const said = [block["text"], block["refusal"], block.type === "compaction" ? block["content"] : undefined];
  const text = said.map(stringIn).find((value) => value !== undefined);
  if (text === undefined) {
    const media = mediaIn(block);
    return media === undefined ? [] : [mediaLeftOut(media)];
  }
  const { cache_control } = block as Fields;
  const isPlain = isText(block) && Object.keys(block).every((key) => plainKeys.has(key));
  const plain = { ...textBlock(text), ...(cache_control !== undefined && { cache_control }) } as Block;
  return text === "" ? [] : [isPlain ? block : plain];
};

const plainKeys: ReadonlySet<string> = new Set(["type", "text", "cache_control"]);

/** The response metadata without LangChain's mark of standard content. */
export function unmarked(message: BaseMessage): Fields {
  return without(fieldsOf(message.response_metadata), "output_version");
}

/** True for an answer with the mark of standard content, whatever its content is. */
export function isMarked(message: BaseMessage): boolean {
  return fieldsOf(message.response_metadata)["output_version"] === "v1";
}

/** The answer's own words where it refused to answer, and nothing else. */
export function refusalOf(message: BaseMessage): string | undefined {
  return stringIn(fieldsOf(message.additional_kwargs)["refusal"]) || undefined;
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

function withoutDoubles(message: BaseMessage): BaseMessage {
  const calls = recordsIn((message as AIMessage).tool_calls) as readonly Fields[];
  if (!isMarked(message) || calls.every(({ id }) => typeof id === "string")) {
    return message;
  }
  const told = new Map<string, number>();
  const keyOf = (call: Fields) => jsonText([call["name"], call["args"]]) ?? "";
  const known = calls.filter(({ id }) => typeof id === "string");
  known.forEach((call) => told.set(keyOf(call), (told.get(keyOf(call)) ?? 0) + 1));
  const left = calls.filter((call) => {
    const count = told.get(keyOf(call)) ?? 0;
    const isDouble = typeof call["id"] !== "string" && count > 0;
    if (isDouble) {
      told.set(keyOf(call), count - 1);
    }
    return !isDouble;
  });
  return left.length === calls.length ? message : inForm(message, { tool_calls: left });
}

/** The answer without raw calls that its `tool_calls` do not tell: ChatOpenAI would send them in their place. */
export function withoutForgottenCalls(message: BaseMessage): BaseMessage {
  const kwargs = fieldsOf(message.additional_kwargs);
  return Array.isArray(kwargs["tool_calls"]) && callsOf(message).length === 0
    ? inForm(message, { additional_kwargs: without(kwargs, "tool_calls") })
    : message;
}
