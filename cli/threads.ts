import { StoreError } from "../src/base/errors.js";
import { ThreadStore } from "../src/langgraph/checkpoint/thread-store.js";
import { threadKeys } from "../src/store/redis/keys.js";
import { foundPieces } from "../src/store/redis-lists/kinds.js";
import { wireOf, type RedisWire } from "../src/store/redis-store/redis-session-store.js";
import { sealedParts } from "../src/store/sealed/loaded-store.js";
import type { Server } from "./server.js";

/** A LangGraph thread of `RedisSaver`. */
export interface FoundThread {
  readonly threadId: string;
  readonly checkpoints: number;
  /** Texts that the checkpoints share. */
  readonly items: number;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  /** True where Redis lost a part of it. */
  readonly damaged?: true;
}

/** The ids of threads, each once, in pages. */
export async function* threadIds(server: Server, signal: AbortSignal): AsyncGenerator<string[]> {
  for await (const page of foundPieces(wireOfServer(server), "thread")) {
    if (signal.aborted) {
      return;
    }
    yield page.map(({ id }) => id);
  }
}

/** The figures of a thread at one moment; undefined for none, or one that was erased. */
export async function describeThread(
  { client, keyPrefix }: Server,
  threadId: string,
): Promise<FoundThread | undefined> {
  const keys = threadKeys(keyPrefix, threadId);
  const replies = await client
    .multi()
    .exists(keys.items, keys.checkpoints, keys.order)
    .pttl(keys.checkpoints)
    .llen(keys.items)
    .zcard(keys.order)
    .hmget(keys.checkpoints, "base", "next", "count", "erased")
    .exec();
  const failure = replies?.find(([error]) => error !== null && !/^WRONGTYPE/.test(error.message))?.[0];
  if (failure) {
    throw failure;
  }
  const [exist, left, items, members, fields] = (replies ?? []).map(([error, reply]) => (error ? undefined : reply));
  const [base, next, count, erased] = ((fields ?? []) as (string | null)[]).map((text) => Number(text ?? NaN));
  if (exist === 0 || erased! > 0) {
    return undefined;
  }
  const isWhole = items === next! - base! && members === count;
  return {
    threadId,
    // The first member is no checkpoint, and the first item is no text: they keep the keys alive.
    checkpoints: Math.max(0, Number(members ?? 0) - 1),
    items: Math.max(0, Number(items ?? 0) - (base === 0 ? 1 : 0)),
    ...(Number(left) >= 0 && { expiresAt: Date.now() + Number(left) }),
    ...(!isWhole && { damaged: true }),
  };
}

/** Threads on the connection of a command: nothing is refreshed by reads, or pruned by writes. */
export function threadStoreOf(server: Pick<Server, "store">): ThreadStore {
  const wire = wireOfServer(server);
  return new ThreadStore(wire.runner, { keyPrefix: wire.keyPrefix, threadTTL: undefined, keep: undefined });
}

/** The connection of a command, for data beside sessions. */
export function wireOfServer({ store }: Pick<Server, "store">): RedisWire {
  return wireOf(sealedParts(store)?.store ?? store)!;
}

/** The damage of a thread that cannot be read, in words that say what helps; undefined for any other error. */
export function damageIn(error: unknown): string | undefined {
  const code = StoreError.isInstance(error) ? error.code : undefined;
  if (code === "wrong_type") {
    return "a key of it holds another type of value; return it to its program, or delete the thread (deleteThread)";
  }
  return code === "damaged" ? "Redis lost a part of it; it cannot be resumed, only deleted (deleteThread)" : undefined;
}
