import { z } from "zod";
import { lazy } from "../options.js";

/** Gives the time at which something happens; injected where time must be known, as in tests. */
export type Clock = () => Date;

/** The machine's own time. */
export const systemClock: Clock = () => new Date();

/** ISO 8601 with seconds and a zone. Without a zone nobody could say which moment is meant. */
export const timestampSchema = lazy(() =>
  z.iso.datetime({
    offset: true,
    error: "must be an ISO 8601 date-time with its zone, such as 2026-01-31T12:00:00Z",
  }),
);

/** The same moment in UTC, with `Z` at the end; digits after the second are kept. */
export function toUtc(timestamp: string): string {
  const [, whole, fraction = "", zone] = /^(.{19})(\.\d+)?(.+)$/.exec(timestamp)!;
  return zone === "Z" ? timestamp : `${new Date(`${whole}${zone}`).toISOString().slice(0, 19)}${fraction}Z`;
}

/** A sort key for timestamps as {@link toUtc} gives them: as text, `12:00:00.5Z` would come before `12:00:00Z`. */
export function comparableTimestamp(timestamp: string): string {
  const [second, digits = ""] = timestamp.slice(0, -1).split(".");
  return `${second}.${digits.padEnd(12, "0")}`;
}
