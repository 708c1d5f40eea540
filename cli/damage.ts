import { StoreError, type MemoryError } from "../src/base/errors.js";
import type { MemoryEvent } from "../src/base/events.js";
import { sessionKeys } from "../src/store/redis/keys.js";
import { reasonOf } from "./failure.js";
import { counted, whole } from "./figures.js";
import type { Server } from "./server.js";

type Part = "log" | "ids" | "state";

/** The raw keys of a session in Redis. */
export interface Remains {
  /** Records of the log. */
  readonly messages: number;
  /** Position of the first record, and behind the last, as the state says it; undefined where it does not. */
  readonly base: number | undefined;
  readonly next: number | undefined;
  /** Keys that hold nothing of the session. */
  readonly missing: ReadonlySet<Part>;
  /** Those of them that hold another type of value. */
  readonly foreign: ReadonlySet<Part>;
}

/** The damage of a session, in a sentence that says what to do. */
export interface Damage {
  readonly sentence: string;
  /** True where `rebuild` makes a session that can be written again, with all messages that are left. */
  readonly rebuildHelps: boolean;
}

/** The rest of a session; undefined if nothing is left, or only the mark of one that was erased a short time ago. */
export async function remainsOf(
  { client, keyPrefix }: Pick<Server, "client" | "keyPrefix">,
  sessionId: string,
): Promise<Remains | undefined> {
  const { log, ids, state } = sessionKeys(keyPrefix, sessionId);
  const [records, names, fields] = await Promise.all([
    unlessForeign(client.llen(log)),
    unlessForeign(client.hlen(ids)),
    unlessForeign(client.hmget(state, "base", "next", "epoch", "erased")),
  ]);
  const [base, next, epoch = null, erased = null] = fields ?? [];
  if (erased !== null || (records === 0 && names === 0 && epoch === null && fields !== undefined)) {
    return undefined;
  }
  return {
    messages: records ?? 0,
    base: epoch === null ? undefined : position(base ?? "0"),
    next: position(next),
    missing: partsThatAre({ log: !records, ids: !names, state: epoch === null }),
    foreign: partsThatAre({ log: records === undefined, ids: names === undefined, state: fields === undefined }),
  };
}

/** How many messages the session had when it was last written; undefined where that is not known. */
export function lengthBefore({ base, next }: Remains): number | undefined {
  return base === undefined || next === undefined || next < base ? undefined : next - base;
}

/** The damage of a session that counts as damaged. */
export function damageOf(remains: Remains): Damage {
  const { messages, missing, foreign } = remains;
  if (foreign.has("log")) {
    const advice = "rebuild cannot help: return that key to its program, or delete the session";
    return { sentence: `the key of its log holds another type of value; ${advice}`, rebuildHelps: false };
  }
  const before = lengthBefore(remains);
  if (messages === 0) {
    const lost = before === undefined ? "no message is left" : `all ${counted(before, "message")} are gone`;
    const remedy = missing.has("state") ? "remove what is left of it" : "keep it without messages";
    const advice = `delete the session, or ${remedy} by rebuild --yes`;
    return { sentence: `${lost}, and rebuild cannot bring them back; ${advice}`, rebuildHelps: false };
  }
  const what =
    before !== undefined && before > messages
      ? `${whole(before - messages)} of ${counted(before, "message")} are gone`
      : missing.has("state")
        ? "its state is gone, with its title and view"
        : missing.has("ids")
          ? "the index of its messages is gone"
          : "its keys do not fit each other";
  const others = [...foreign].map((part) => (part === "ids" ? "index" : part));
  const removed =
    others.length === 0 ? "" : `; the key of its ${others.join(" and of its ")} holds another type of value`;
  const advice = others.length === 0 ? "run rebuild to use what is left" : "rebuild replaces it and uses what is left";
  return { sentence: `${what}${removed}; ${advice}`, rebuildHelps: true };
}

/** A record that reads skipped. */
export interface UnreadableRecord {
  /** Its place in the log; left out for the head of the view. */
  readonly position?: number;
  readonly detail: string;
}

/** The records that reads skipped, each once: the same one is read by a view and by a page. */
export function unreadableRecords(events: readonly MemoryEvent[]): UnreadableRecord[] {
  const details = new Map<number | undefined, string>();
  for (const event of events) {
    if (event.type === "record_skipped") {
      details.set(event.position, event.error.message);
    }
  }
  return [...details].map(([position, detail]) => ({ detail, ...(position !== undefined && { position }) }));
}

/** An error about a session: where it says no more than that the session is damaged, the damage. */
export async function problemOf(
  server: Pick<Server, "client" | "keyPrefix">,
  sessionId: string,
  error: MemoryError,
): Promise<string> {
  const isDamage = StoreError.isInstance(error) && (error.code === "damaged" || error.code === "wrong_type");
  const remains = isDamage ? await remainsOf(server, sessionId) : undefined;
  return remains === undefined ? reasonOf(error) : damageOf(remains).sentence;
}

function partsThatAre(parts: Readonly<Record<Part, boolean>>): ReadonlySet<Part> {
  return new Set((["log", "ids", "state"] as const).filter((part) => parts[part]));
}

/** A reply, or undefined where the key holds another type of value. */
async function unlessForeign<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (/^WRONGTYPE/.test((error as Error).message)) {
      return undefined;
    }
    throw error;
  }
}

function position(text: string | null | undefined): number | undefined {
  return text && /^\d{1,14}$/.test(text) ? Number(text) : undefined;
}
