import { BudgetError } from "../../base/errors.js";
import { isRecord, type Fields, type RefusedMark } from "../../conversation/messages/message.js";
import { partsOf, tooLongIn } from "./fit-request.js";

/** Statuses of requests that are refused whenever they are made: bad request, too large, not processable. */
const statuses: ReadonlySet<unknown> = new Set([400, 413, 422]);

/** Words of a 400 that blames the account or the set-up, not the question: Google and Anthropic answer so. */
const blameless = [
  /api[ _-]?key|credential|unauthori[sz]ed|credit|billing|quota/i,
  /rate.?limit|throttl|too many requests|\bregion\b|location is not supported/i,
  /model\b.{0,60}\b(?:not found|does not exist|not supported|unknown)|unknown model/i,
];

/** The reason and status of a refusal that the question itself caused; undefined for every other error. */
export type RefusalForGood = Pick<RefusedMark, "reason" | "status">;

/**
 * Tells whether the same request would be refused again because of what it says: status 400, 413 or 422, a request that
 * exceeds the window, a `BudgetError`, a blocked prompt. Not for keys, credit, quota, rate, region, model names,
 * aborts, and what may pass, as 429 and 5xx.
 */
export function refusedForGood(error: unknown): RefusalForGood | undefined {
  const { parts, text } = partsOf(error);
  const status = parts.map(statusOf).find((code) => code !== undefined);
  const told = status === undefined ? {} : { status };
  if (BudgetError.isInstance(error) || tooLongIn(error) !== undefined) {
    return { reason: "too_long", ...told };
  }
  if (parts.some((part) => part["blockReason"] !== undefined)) {
    return { reason: "refused", ...told };
  }
  const isRefused = statuses.has(status) && !blameless.some((words) => words.test(text));
  return isRefused ? { reason: status === 413 ? "too_long" : "refused", ...told } : undefined;
}

/** The HTTP status in an adapter's error: under the names that the adapters of LangChain give it. */
function statusOf({ status, statusCode, $metadata, response }: Fields): number | undefined {
  const inner = [$metadata, response].filter(isRecord).flatMap((part) => [part["httpStatusCode"], part["status"]]);
  return [status, statusCode, ...inner].find((value): value is number => typeof value === "number");
}
