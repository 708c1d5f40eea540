import * as z from "zod/mini";
import { lazy } from "../../base/options.js";

/**
 * Returns the current time; injected where tests must control it.
 * @example
 * import { MessageHistory, type Clock } from "langchain-redis-memory/openai";
 *
 * const clock: Clock = () => new Date("2026-01-31T12:00:00Z");
 * const messages = new MessageHistory([], { clock });
 * messages.addMessage("user", "Hi"); // its timestamp is that of the clock
 */
export type Clock = () => Date;

/** The system clock. */
export const systemClock: Clock = () => new Date();

/** Groups: year, month, day, hour, minute, second, zone hours, zone minutes. */
const isoForms = [
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?(?:Z|[+-](\d\d)(?::?(\d\d))?)?)?$/,
  /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(?:(\d\d)(?:(\d\d)(?:[.,]\d+)?)?)?(?:Z|[+-](\d\d)(?::?(\d\d))?)?)?$/,
];

/** Any ISO 8601 calendar date, with or without time and zone, as Python's `isoformat()` also writes it. */
export const timestampSchema = lazy(() =>
  z
    .string("must be an ISO 8601 date-time, such as 2026-01-31T12:00:00Z")
    .check(z.refine(isIsoTimestamp, "must be an ISO 8601 date-time, such as 2026-01-31T12:00:00Z")),
);

/** ISO 8601 with seconds and zone, which names one moment. */
export const momentSchema = lazy(() =>
  z.iso.datetime({
    offset: true,
    error: "must be an ISO 8601 date-time with a time zone, such as 2026-01-31T12:00:00Z",
  }),
);

/** Converts a moment to UTC, with `Z` at the end; keeps all digits of the fraction. */
export function toUtc(moment: string): string {
  const [, whole, fraction = "", zone] = /^(.{19})(\.\d+)?(.+)$/.exec(moment)!;
  return zone === "Z" ? moment : `${new Date(`${whole}${zone}`).toISOString().slice(0, 19)}${fraction}Z`;
}

/** Returns a sort key for moments in UTC: compared as text, `12:00:00.5Z` would come before `12:00:00Z`. */
export function comparableTimestamp(utc: string): string {
  const [second, digits = ""] = utc.slice(0, -1).split(".");
  return `${second}.${digits.padEnd(12, "0")}`;
}

function isIsoTimestamp(text: string): boolean {
  const match = isoForms.map((form) => form.exec(text)).find((match) => match !== null);
  if (match === undefined) {
    return false;
  }
  const numbers = match.slice(1).map((digits: string | undefined) => Number(digits ?? 0));
  const [year = 0, month = 0, day = 0, ...times] = numbers;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const limits = [24, 60, 60, 24, 60];
  return isDate && times.every((time, index) => time < limits[index]!);
}
