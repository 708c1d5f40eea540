import * as z from "zod/mini";
import { decodeSessionId, encodeSessionId } from "../store/session-ref.js";
import { lazy } from "../base/options.js";
import type { ModelUsage, SessionDetails, SessionSummary } from "../store/lists.js";
import { firstScore } from "../redis/stored-fields.js";
import { valueIn } from "../messages/values.js";

/** A session as read for its list entry. */
export interface DescribedSession {
  readonly details: SessionDetails;
  /** Server time of the read, in microseconds. */
  readonly version: number;
}

/** An entry of an owner's index. */
export interface IndexEntry {
  readonly sessionId: string;
  /** Prefix of the value that each write changes: the version for compare-and-set. */
  readonly stamp: string;
  /** Undefined for an announced or unreadable entry: read the session itself. */
  readonly summary: SessionSummary | undefined;
}

const entrySchema = lazy(() =>
  z.object({
    c: z.number(),
    u: z.number(),
    m: z.number(),
    r: z.number(),
    t: z.optional(z.number()),
    e: z.optional(z.number()),
    U: z.optional(z.string()),
    T: z.optional(z.string()),
    M: z.optional(z.string()),
  }),
);

/** Converts the reply of the script that describes a session; undefined for a session that does not exist. */
export function describedFrom(sessionId: string, reply: unknown): DescribedSession | undefined {
  const [word, micros, left, fields = [], metadata] = reply as [string, unknown, unknown, (string | null)[]?, unknown?];
  if (word === "NONE") {
    return undefined;
  }
  const [, owner, label, created, updated, base, next, rounds, tokens, usage, title, listed] = fields;
  const version = Number(micros);
  const updatedAt = amountOf(updated);
  const details: SessionDetails = {
    sessionId,
    label: {
      ...(isText(title) && { title }),
      ...(isText(metadata) && { metadata }),
      ...(isText(listed) && { listed }),
    },
    labelVersion: label ?? "",
    // Sessions of older releases have no creation time.
    createdAt: amountOf(created ?? updatedAt),
    updatedAt,
    messages: amountOf(amountOf(next) - amountOf(base)),
    rounds: amountOf(rounds),
    ...(isText(owner) && { owner }),
    ...(isText(tokens) && { tokens: amountOf(tokens) }),
    ...(isText(usage) && { usage: usageFrom(usage) }),
    ...(Number(left) >= 0 && { expiresAt: Math.floor(version / 1_000) + Number(left) }),
  };
  return { details, version };
}

/** A number of 0 or more, also from a damaged session. */
function amountOf(value: string | number | null | undefined): number {
  const number = Number(value ?? 0);
  return number >= 0 && number < Infinity ? number : 0;
}

/** Arguments of the script that writes entries: value, score and expiry. */
export function entryArguments({ details, version }: DescribedSession): string[] {
  const { label, createdAt, updatedAt, messages, rounds, tokens, usage, expiresAt, sessionId } = details;
  const value = JSON.stringify({
    c: createdAt,
    u: updatedAt,
    m: messages,
    r: rounds,
    t: tokens,
    e: expiresAt,
    U: usage && usageText(usage),
    T: label.title,
    M: label.listed ?? label.metadata,
  });
  // The microseconds separate sessions of one millisecond. An import may name any time: clamped, so that none is placed
  // in the future, or among the members below the sessions.
  const place = Math.max(Number(firstScore), Math.min(updatedAt * 1_000 + (version % 1_000), version));
  return [encodeSessionId(sessionId), String(version), String(expiresAt ?? ""), String(place), `${version} ${value}`];
}

/** An announced entry, without a summary: the session may exist. */
export function announcement(sessionId: string, expiresAt: number | undefined): string[] {
  return [encodeSessionId(sessionId), "0", String(expiresAt ?? ""), "0", ""];
}

/** Stamp of a value, as compared by the scripts. */
export function stampOf(value: string): string {
  return /^\??\d*/.exec(value)![0];
}

/** The entries in a reply, from an index of it on: session and value of each. */
export function entriesFrom(reply: readonly unknown[], first: number): IndexEntry[] {
  return Array.from({ length: Math.floor((reply.length - first) / 2) }).flatMap((_, index) => {
    const [member, value] = reply.slice(first + 2 * index) as [string, string];
    const sessionId = decodeSessionId(member);
    return sessionId === undefined
      ? []
      : [{ sessionId, stamp: stampOf(value), summary: summaryFrom(sessionId, value) }];
  });
}

function summaryFrom(sessionId: string, value: string): SessionSummary | undefined {
  const text = /^\d+ (.*)$/s.exec(value)?.[1];
  const parsed = text === undefined ? undefined : entrySchema().safeParse(valueIn(text));
  if (parsed?.success !== true) {
    return undefined;
  }
  const { c, u, m, r, t, e, U, T, M } = parsed.data;
  return {
    sessionId,
    label: { ...(T !== undefined && { title: T }), ...(M !== undefined && { metadata: M }) },
    ...{ createdAt: c, updatedAt: u, messages: m, rounds: r },
    ...(t !== undefined && { tokens: t }),
    ...(U !== undefined && { usage: usageFrom(U) }),
    ...(e !== undefined && { expiresAt: e }),
  };
}

/** Parses the field `usage`. */
export function usageFrom(text: string): ModelUsage[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [model = "", input, output, total] = line.split("\t");
    return { model, input: Number(input), output: Number(output), total: Number(total) };
  });
}

/** Serializes the field `usage`: one line per model. */
export function usageText(usage: readonly ModelUsage[]): string {
  return usage.map(({ model, input, output, total }) => [model, input, output, total].join("\t")).join("\n");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
