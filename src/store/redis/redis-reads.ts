import { StoreError } from "../../errors.js";
import type { SessionKeys } from "./keys.js";
import { viewReply, type PageReply, type ViewReply } from "./redis-replies.js";
import type { Command, ScriptCall, ScriptRunner } from "./script-runner.js";
import { viewFields } from "./scripts/fragments.js";
import { readPageScript } from "./scripts/read-page.js";
import { readViewScript } from "./scripts/read-view.js";
import type { CallName } from "./redis-errors.js";

/** What to read of the log. */
export interface Read {
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly keys: SessionKeys;
  /** Index in the log of the first record. */
  readonly index: number;
}

/** All records from the index on, the state, and how many ids are known, as they were at one moment. */
export async function readTail({ index, ...read }: Read): Promise<ViewReply> {
  const { log, ids } = read.keys;
  const commands = [stateOf(read.keys), { verb: "lrange", args: [log, index, -1] }, { verb: "hlen", args: [ids] }];
  // The script says where it began to read.
  const [fields, records, known, first = index] = await atOnce(read, commands, { script: readViewScript, args: [] });
  return viewReply([fields, records, known, first]);
}

/**
 * Records from the index on, so many at most (all if left out), the state, and how long the log and its index of ids
 * are, as they were at one moment.
 */
export async function readPage({ index, ...read }: Read, limit: number | undefined): Promise<PageReply> {
  const { log, ids } = read.keys;
  const last = limit === undefined ? -1 : index + limit - 1;
  const commands = [
    stateOf(read.keys),
    { verb: "lrange", args: [log, index, last] },
    { verb: "llen", args: [log] },
    { verb: "hlen", args: [ids] },
  ];
  const [fields, records, length, known] = await atOnce(read, commands, {
    script: readPageScript,
    args: [index, last],
  });
  return {
    fields: fields as (string | null)[],
    records: records as string[],
    length: Number(length),
    ids: Number(known),
    index,
  };
}

function stateOf(keys: SessionKeys): Command {
  return { verb: "hmget", args: [keys.state, ...viewFields] };
}

// Native commands in a MULTI, because a script that returns a thousand records takes twice as long (Redis 7.0). A
// server that is out of memory queues no commands at all, reads included, but runs a script that only reads.
async function atOnce(
  { runner, name, keys }: Omit<Read, "index">,
  commands: readonly Command[],
  { script, args }: Pick<ScriptCall, "script" | "args">,
): Promise<unknown[]> {
  try {
    return await runner.transaction(name, commands);
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === "out_of_memory") {
      return (await runner.run(name, {
        script,
        keys: [keys.log, keys.ids, keys.state],
        args,
        writes: false,
      })) as unknown[];
    }
    throw error;
  }
}
