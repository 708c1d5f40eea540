import { sessionKeys } from "../src/redis/keys.js";
import { scanKeys } from "./find-keys.js";
import type { Server } from "./server.js";

/** Ids of sessions whose log is left, and whose state says no more that there is one: an index cannot find them. */
export async function* sessionsWithoutState(
  { client, keyPrefix }: Pick<Server, "client" | "keyPrefix">,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const prefix = `${keyPrefix}:{`;
  const match = `${prefix.replace(/[\\*?[\]^-]/g, "\\$&")}*}:log`;
  for await (const keys of scanKeys(client, { match, type: "list", signal })) {
    const ids = [...new Set(keys)].map((key) => decodeURIComponent(key.slice(prefix.length, -"}:log".length)));
    // A key of another type holds no state.
    const begun = await Promise.all(
      ids.map((id) => client.hexists(sessionKeys(keyPrefix, id).state, "epoch").catch(() => 0)),
    );
    yield* ids.filter((_, index) => begun[index] === 0);
  }
}
