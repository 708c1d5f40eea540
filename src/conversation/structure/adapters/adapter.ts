import type { BaseMessage, AIMessage } from "@langchain/core/messages";
import type { OwnToolPart } from "./own-tools.js";
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

/**
 * An adapter between LangChain's messages and a provider's API, by the name of its profile. `neutral` is the form that
 * nearly all of them read: texts and `tool_calls`.
 *
 * @example
 * import { builtInProfiles, type Adapter } from "langchain-redis-memory/structure";
 *
 * const adapter: Adapter = "openai-responses";
 * const profile = { ...builtInProfiles[adapter], name: "our-gateway" };
 */
export type Adapter =
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "google"
  | "google-genai"
  | "mistral"
  | "bedrock"
  | "deepseek"
  | "neutral";

/** Every {@link Adapter}. */
export const adapters = [
  "openai-chat",
  "openai-responses",
  "anthropic",
  "google",
  "google-genai",
  "mistral",
  "bedrock",
  "deepseek",
  "neutral",
] as const satisfies readonly Adapter[];

/** Facts about a message that depend on the others of its request, where its adapter asks for them. */
export interface RequestPlace {
  /** The part of the message in the use of OpenAI's own kinds of tools. */
  readonly ownToolPart?: OwnToolPart;
  /** True for an answer of which an earlier message has sent an item of OpenAI's. */
  readonly isRepeated?: boolean;
  /** The names of the message's documents for Bedrock. */
  readonly documentNames?: string;
}

/** Facts on which the form of a message depends besides the adapter. */
export interface FormFacts extends RequestPlace {
  /** Whether the provider keeps reasoning items (`store`). */
  readonly storesReasoning: boolean;
  /** The model's name; undefined if it is not known. */
  readonly model: string | undefined;
  /** True where an answer for ChatGoogle may go to another adapter. */
  readonly isOutOfSight?: boolean;
  /** Whether the answer belongs to the turn that goes on. */
  readonly isOfThisTurn: boolean;
}

/** The answer as an adapter sends it back to its own provider; undefined where that cannot be sent as it is. */
export type OwnForm = (message: BaseMessage, facts: FormFacts) => BaseMessage | undefined;

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
