import type { BaseMessage } from "@langchain/core/messages";
import { compactionIn, foreignCompaction, isCompaction, nativeBlock } from "../../messages/calls.js";
import { inForm } from "../../messages/change-message.js";
import { blockList, contentOf, saysNothing } from "../../messages/content.js";
import { withFields } from "../../messages/copies/edits.js";
import { summaryMessage } from "../../messages/summary-message.js";
import { type Fields, fieldsOf } from "../../messages/values.js";
import type { Adapter } from "./adapter.js";

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
