import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { contentText } from "./content.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "./message.js";

/** A chat model, an LLM, or any Runnable from messages to text or a message. */
interface WritingModel {
  invoke(messages: BaseMessage[], options?: Partial<RunnableConfig>): Promise<string | BaseMessage>;
}

/** A text that a model was asked for. */
export interface WrittenText {
  /** Its text without a thought in front, trimmed; empty if there is none. */
  readonly text: string;
  /** Why the model ended before its text did, in the provider's word; undefined for a whole text and for bare text. */
  readonly cutOffBy: string | undefined;
  readonly reply: string | BaseMessage;
}

/** Asks a model for a text that is used as a whole, such as a summary. */
export async function askForText(
  model: WritingModel,
  messages: BaseMessage[],
  config: RunnableConfig,
): Promise<WrittenText> {
  const reply = await model.invoke(messages, config);
  const whole = typeof reply === "string" ? reply : textIn(reply);
  return { text: withoutThought(whole).trim(), cutOffBy: cutOffBy(reply), reply };
}

/** Why the model ended a message early, in the provider's word; undefined if it did not. */
export function cutOffBy(message: unknown): string | undefined {
  const { response_metadata, additional_kwargs } = fieldsOf(message);
  return [response_metadata, additional_kwargs].flatMap(endsIn).find((reason) => earlyEnds.test(reason));
}

/** Names under which adapters tell how a call ended; OpenAI's Responses API tells a status with a reason. */
const endKey = /^(?:(?:finish|stop|done|block)_?reason|status|reason)$/i;

/** Words of providers for an answer that is not whole: out of tokens, filtered, refused, failed. */
const earlyEnds = new RegExp(
  [
    ...["length", "max_?(?:output_?)?token", "limit", "context_?window", "incomplete", "pause", "insufficient"],
    ...["filter", "safety", "refus", "block", "prohibited", "recitation", "spii", "guardrail", "language", "other"],
    ...["error", "fail", "cancel", "malformed"],
  ].join("|"),
  "i",
);

/** The ends that metadata tells: in its own fields, or one record deeper, as of ChatBedrockConverse's streams. */
function endsIn(metadata: unknown): string[] {
  const inner = Object.values(fieldsOf(metadata)).filter(isRecord);
  return [fieldsOf(metadata), ...inner].flatMap((fields: Fields) =>
    Object.entries(fields).flatMap(([key, value]) => (endKey.test(key) && typeof value === "string" ? [value] : [])),
  );
}

function textIn(reply: unknown): string {
  const { content, text } = fieldsOf(reply);
  return content === undefined ? (stringIn(text) ?? "") : contentText(content as BaseMessage["content"]);
}

const [openThought, endOfThought] = ["^\\s*<", "</"].map(
  (start) => new RegExp(`${start}(?:think(?:ing)?|thought|reasoning)>`, "i"),
) as [RegExp, RegExp];

/** The text behind thoughts in tags, as models write them that have no field for thoughts; empty within one. */
function withoutThought(text: string): string {
  for (let rest = text; ;) {
    const isOpen = openThought.test(rest);
    const end = endOfThought.exec(rest);
    if (end === null) {
      return isOpen ? "" : rest;
    }
    const [thought, behind] = [rest.slice(0, end.index), rest.slice(end.index + end[0].length)];
    // Some templates open the thought in the prompt: its end then stands on a line of its own.
    if (!isOpen && !(/(?:^|\n)[^\S\n]*$/.test(thought) && /^[^\S\n]*(?:\n|$)/.test(behind))) {
      return rest;
    }
    rest = behind;
  }
}
