import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../messages/values.js";
import { roleOf } from "../messages/roles.js";
import type { ModelUsage } from "../store/lists.js";

const maxNameLength = 128;

/**
 * The tokens that an answer says to have taken, and its model; undefined for every other message. A model without a
 * name is `unknown`.
 */
export function usageOf(message: BaseMessage): ModelUsage | undefined {
  const { usage_metadata: usage, response_metadata: response } = message as {
    usage_metadata?: unknown;
    response_metadata?: unknown;
  };
  if (!isRecord(usage) || roleOf(message) !== "ai") {
    return undefined;
  }
  const [input, output] = [amountOf(usage["input_tokens"]), amountOf(usage["output_tokens"])];
  const total = usage["total_tokens"] === undefined ? input + output : amountOf(usage["total_tokens"]);
  return { model: nameOf(response), input, output, total };
}

function amountOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

function nameOf(response: unknown): string {
  const names = isRecord(response) ? [response["model_name"], response["model"], response["modelId"]] : [];
  const name = names.find((value) => typeof value === "string" && value !== "") as string | undefined;
  return (name ?? "unknown")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")
    .slice(0, maxNameLength)
    .toWellFormed();
}
