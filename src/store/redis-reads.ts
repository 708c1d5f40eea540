import type { SessionKeys } from "./keys.js";
import type { PageReply, ViewReply } from "./redis-replies.js";
import type { ScriptRunner } from "./script-runner.js";
import { viewFields } from "./scripts/fragments.js";
import type { CallName } from "./store-errors.js";

/** What a read works with. */
export interface Read {
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly keys: SessionKeys;
  /** Index in the log of the first record to read. */
  readonly index: number;
}

/**
 * The view, and perhaps records before or without its start, as they were at one moment.
 *
 * Native commands, because a script that returns a thousand records takes twice as long (Redis 7.0).
 */
export async function readViewFrom({ runner, name, keys, index }: Read): Promise<ViewReply> {
  const [fields, records, ids] = (await runner.transaction(name, [
    { verb: "hmget", args: [keys.state, ...viewFields] },
    { verb: "lrange", args: [keys.log, index, -1] },
    { verb: "hlen", args: [keys.ids] },
  ])) as [(string | null)[], string[], unknown];
  return { fields, records, ids: Number(ids), index };
}

/** A page of the log as it was at one moment. */
export async function readPageFrom({ runner, name, keys, index }: Read, limit: number | undefined): Promise<PageReply> {
  const [fields, records, length, ids] = (await runner.transaction(name, [
    { verb: "hmget", args: [keys.state, ...viewFields] },
    { verb: "lrange", args: [keys.log, index, limit === undefined ? -1 : index + limit - 1] },
    { verb: "llen", args: [keys.log] },
    { verb: "hlen", args: [keys.ids] },
  ])) as [(string | null)[], string[], unknown, unknown];
  return { fields, records, length: Number(length), ids: Number(ids), index };
}
