import type { SessionRef } from "../store/session-ref.js";
import type { AppendRequest } from "../store/session-writes.js";

/** Records of a request that the script's short path takes; each is three arguments on Lua's stack. */
const mostPlain = 1_000;
/** Numbers up to which Lua and JavaScript write them with digits alone. */
const mostWhole = 5e13;
/** All else that a plain request may name: it becomes a number for the script, or is said by the records. */
const plainFields = new Set(["records", "ttlMs", "viewLimit", "onConflict"]);

/** True for a request of nothing but records by a caller of whom nothing but the id is said: the short path takes it. */
export function isPlain(
  { owner, label, hold, keys }: SessionRef,
  request: AppendRequest,
  { at, count, ttl, maxMessages, ...rest }: PlainRequest,
): boolean {
  if ([owner, label, hold, keys].some((part) => part !== undefined)) {
    return false;
  }
  for (const field in request) {
    if (!plainFields.has(field) && request[field as keyof AppendRequest] !== undefined) {
      return false;
    }
  }
  const areWhole = [at, ttl, maxMessages, rest.maxFromStart].every(
    (amount = 0) => amount <= mostWhole && amount % 1 === 0,
  );
  return areWhole && count > 0 && count <= mostPlain && rest.maxTokens === undefined;
}

/** What the script's short path reads in place of the request. */
export function plainStart(request: PlainRequest): string {
  const { at, count, rounds, ttl = "", maxMessages = "", maxFromStart = "", usage } = request;
  return `${at} ${at + count} ${rounds} ${ttl} ${maxMessages} ${maxFromStart} ${usage === undefined ? "" : 1} `;
}

interface PlainRequest {
  readonly at: number;
  readonly count: number;
  readonly rounds: number;
  readonly ttl: number | undefined;
  readonly maxMessages: number | undefined;
  readonly maxFromStart: number | undefined;
  readonly maxTokens: number | undefined;
  readonly usage: unknown;
}
