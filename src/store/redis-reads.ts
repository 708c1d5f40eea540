import { StoreError } from "../errors.js";
import type { SessionKeys } from "./keys.js";
import type { PageReply } from "./redis-replies.js";
import type { ScriptRunner } from "./script-runner.js";
import { viewFields } from "./scripts/fragments.js";
import { readPageScript } from "./scripts/read-page.js";
import type { CallName } from "./store-errors.js";

/** What to read of the log. */
export interface Read {
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly keys: SessionKeys;
  /** Index in the log of the first record. */
  readonly index: number;
  /** How many records at most; all if left out. */
  readonly limit?: number | undefined;
}

/**
 * Records and state as they were at one moment.
 *
 * Native commands in a MULTI, because a script that returns a thousand records takes twice as long (Redis 7.0). A server that is out of
 * memory queues no commands at all, reads included, but runs a script that only reads.
 */
export async function readAtOnce({ runner, name, keys, index, limit }: Read): Promise<PageReply> {
  const last = limit === undefined ? -1 : index + limit - 1;
  const commands = [
    { verb: "hmget", args: [keys.state, ...viewFields] },
    { verb: "lrange", args: [keys.log, index, last] },
    { verb: "llen", args: [keys.log] },
    { verb: "hlen", args: [keys.ids] },
  ];
  const all = [keys.log, keys.ids, keys.state];
  const reply = await runner.transaction(name, commands).catch((error: unknown) => {
    if (StoreError.isInstance(error) && error.code === "out_of_memory") {
      return runner.run(name, { script: readPageScript, keys: all, args: [index, last], writes: false });
    }
    throw error;
  });
  const [fields, records, length, ids] = reply as [(string | null)[], string[], unknown, unknown];
  return { fields, records, length: Number(length), ids: Number(ids), index };
}
