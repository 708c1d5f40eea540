import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../messages/content.js";
import { fieldsOf, without } from "../../messages/values.js";
import type { AnswerForm } from "./adapter.js";
import {
  bareText,
  formedContent,
  isText,
  plainBlock,
  refusalOf,
  unmarked,
  withForm,
  withoutForgottenCalls,
} from "./blocks.js";
import { mayComeFrom } from "./origin.js";

/** Fields that only the adapter that made them reads rightly: raw copies of what the answer says. */
const rawKwargs = ["function_call", "audio", "refusal"];

/** Texts and `tool_calls`, in no provider's own form. */
export function plainAnswer(message: BaseMessage, content: unknown = plainContent(message)): BaseMessage {
  const base = withoutForgottenCalls(message);
  return withForm(base, {
    content,
    additional_kwargs: without(fieldsOf(base.additional_kwargs), ...rawKwargs),
    response_metadata: unmarked(message),
  });
}

function plainContent(message: BaseMessage): unknown {
  return orRefusal(message, formedContent(message.content, plainBlock));
}

/** The content; where it is empty, the words with which the answer refuses. */
export function orRefusal(message: BaseMessage, content: unknown): unknown {
  return content === "" ? (refusalOf(message) ?? "") : content;
}

/** Chat completions, through ChatOpenAI and those made of it: reasoning never goes back. */
export const chatAnswer: AnswerForm = (message) => {
  if (!mayComeFrom(message, ["openai"])) {
    return plainAnswer(message);
  }
  const content = formedContent(message.content, (block) =>
    isText(block) ? [bareText(block)] : block.type === "refusal" ? [block] : plainBlock(block),
  );
  // ChatOpenAI does not send the other field.
  const said = orRefusal(message, content);
  return withForm(withoutForgottenCalls(message), { content: said, response_metadata: unmarked(message) });
};

/** ChatMistralAI throws at every block of an answer but texts and pictures, also at thoughts that it made itself. */
export const mistralAnswer: AnswerForm = (message) => {
  const isPlain = typeof message.content === "string" && textOf(message) !== "";
  return isPlain ? withForm(message, { response_metadata: unmarked(message) }) : plainAnswer(message);
};
