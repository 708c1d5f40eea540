import type { RefusedRequest } from "../../conversation/reducers/chat-history-reducer.js";
import { isRecord, type Fields } from "../../conversation/messages/values.js";

/** Words of providers that refuse a request as too long; some adapters of LangChain throw them as they are. */
const refusals = [
  /context_length_exceeded/i,
  /maximum context length/i,
  /exceeds? (?:the|its|this model's) (?:maximum )?context (?:window|length|limit)/i,
  /input tokens exceed the configured limit/i,
  /prompt is too long/i,
  /input length and `max_tokens` exceed context limit/i,
  /input token count[ ()\d]* exceeds the maximum/i,
  /input is too long for requested model/i,
];

/** Places of the window and of the request's size in these words. */
const windows = [
  /maximum context length (?:is|of) (\d+)/i,
  /configured limit of (\d+)/i,
  /tokens > (\d+) maximum/i,
  /maximum number of tokens allowed \((\d+)\)/i,
  /context limit: [\d +]+> (\d+)/i,
];
const sizes = [
  /\((\d+) in the messages/i,
  /resulted in (\d+) tokens/i,
  /prompt is too long: (\d+) tokens/i,
  /input token count \((\d+)\)/i,
  /context limit: (\d+)/i,
  /you requested (\d+) tokens/i,
];

/** An error and its cause, and their words. */
export function partsOf(error: unknown): { readonly parts: readonly Fields[]; readonly text: string } {
  const parts = [error, isRecord(error) ? error["cause"] : undefined].filter(isRecord);
  return { parts, text: parts.map(({ message }) => (typeof message === "string" ? message : "")).join("\n") };
}

/** The refusal of a request as too long in an error of a model; undefined for any other error. */
export function tooLongIn(error: unknown): RefusedRequest | undefined {
  const { parts, text } = partsOf(error);
  const named = parts.some(
    ({ name, code, lc_error_code: langchainCode }) =>
      name === "ContextOverflowError" || code === "context_length_exceeded" || langchainCode === "CONTEXT_OVERFLOW",
  );
  if (!named && !refusals.some((words) => words.test(text))) {
    return undefined;
  }
  const [window, tokens] = [firstNumber(windows, text), firstNumber(sizes, text)];
  return { ...(window !== undefined && { window }), ...(tokens !== undefined && { tokens }) };
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  const amount = patterns.map((pattern) => Number(pattern.exec(text)?.[1])).find((value) => value > 0);
  return amount !== undefined && Number.isSafeInteger(amount) ? amount : undefined;
}
