import { isBaseMessage, type BaseMessageLike } from "@langchain/core/messages";

/**
 * The key of an output that holds the answer: `raw` beside `parsed` (structured output with `includeRaw`), else the
 * only key, else `output`, else `messages`. Undefined where it holds neither a message, nor messages, nor, under the
 * name `output`, a text.
 */
export function answerKey(output: Readonly<Record<string, unknown>>): string | undefined {
  const keys = Object.keys(output);
  const isRaw = keys.length === 2 && "raw" in output && "parsed" in output;
  const candidates = isRaw ? ["raw"] : keys.length === 1 ? keys : ["output", "messages"];
  return candidates.find((key) => isAnswerAt(key, output[key]));
}

/** True for a message, or what LangChain makes one of. */
export function isMessageLike(value: unknown): value is BaseMessageLike {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  if (isBaseMessage(value)) {
    return true;
  }
  if (Array.isArray(value)) {
    return (
      value.length === 2 && typeof value[0] === "string" && typeof value[1] === "string" && knownRoles.has(value[0])
    );
  }
  return "content" in value && typeof (value as { role?: unknown }).role === "string";
}

const knownRoles = new Set(["human", "user", "ai", "assistant", "system", "developer", "tool", "placeholder"]);

function isAnswerAt(key: string, value: unknown): boolean {
  const isNamed = key === "output" || key === "messages";
  if (Array.isArray(value) && !isMessageLike(value)) {
    return value.every(isMessageLike) && (value.length > 0 || isNamed);
  }
  return isMessageLike(value) || (key === "output" && typeof value === "string");
}
