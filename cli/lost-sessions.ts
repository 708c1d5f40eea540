import { sessionKeys } from "../src/redis/keys.js";
import { scanKeys } from "./find-keys.js";
import type { Server } from "./server.js";

/** Ids of sessions of which Redis lost all but the log: lists of sessions cannot find them. */
export async function* sessionsWithoutState(
  { client, keyPrefix }: Server,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const prefix = `${keyPrefix}:{`;
  const match = `${prefix.replace(/[\\*?[\]^-]/g, "\\$&")}*}:log`;
  for await (const keys of scanKeys(client, { match, type: "list", signal })) {
    const ids = [...new Set(keys)].map((key) => decodeURIComponent(key.slice(prefix.length, -"}:log".length)));
    const exist = await Promise.all(ids.map((id) => client.exists(sessionKeys(keyPrefix, id).state)));
    yield* ids.filter((_, index) => exist[index] === 0);
  }
}
