import { StoreError } from "../base/errors.js";
import type { SessionKeys } from "../redis/keys.js";
import type { LogPage, ReadLogOptions } from "../store/session-reads.js";
import type { SessionRef } from "../store/session-ref.js";
import { baseFrom, checkOwner, pageFrom, viewReply, type PageReply, type ViewReply } from "./replies.js";
import { type ScriptCall, type ScriptRunner, runOnSession, type Command } from "../redis/script-runner.js";
import { askText } from "../redis/ask.js";
import { readPageScript, readViewScript } from "../redis/lua/scripts.js";
import { viewFields } from "../redis/stored-fields.js";
import type { CallName } from "../redis/errors.js";

/** A read of the log from an index on. */
export interface Read {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly name: CallName;
  readonly keys: SessionKeys;
  /** Index in the log of the first record to read. */
  readonly index: number;
}

/** Reads the records from the index on, the state, the number of ids and `wanted` fields of `ids`, at one moment. */
export async function readTail({ index, ...read }: Read, wanted: readonly string[]): Promise<ViewReply> {
  const { log, ids } = read.keys;
  const commands: Command[] = [
    stateOf(read.keys),
    { verb: "lrange", args: [log, index, -1] },
    { verb: "hlen", args: [ids] },
  ];
  if (wanted.length > 0) {
    commands.push({ verb: "hmget", args: [ids, ...wanted] });
  }
  const reply = await atOnce(read, commands, { script: readViewScript, args: [...wanted] });
  // Only the script replies with the index where it began to read.
  const isScript = reply[3] !== undefined && !Array.isArray(reply[3]);
  const [fields, records, known] = reply;
  return viewReply([fields, records, known, isScript ? reply[3] : index, isScript ? reply[4] : reply[3]]);
}

/**
 * Reads at most `limit` records from the index on (default: all), the state, and the lengths of the log and of its
 * index of ids, all at one moment.
 */
async function readPage({ index, ...read }: Read, limit: number | undefined): Promise<PageReply> {
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

/**
 * Reads a page of the log; `base` is where the log was last seen to begin. With it comes the session's owner, or `""`.
 */
export async function readLogPage(
  {
    runner,
    session,
    keys,
  }: { readonly runner: ScriptRunner; readonly session: SessionRef; readonly keys: SessionKeys },
  { from, limit }: ReadLogOptions,
  base: number,
): Promise<{ readonly page: LogPage; readonly owner: string }> {
  for (let first = base; ;) {
    const index = from === undefined ? 0 : Math.max(0, from - first);
    const reply = await readPage(
      { runner, session, name: { operation: "readLog", sessionId: session.id }, keys, index },
      limit,
    );
    const stored = checkOwner(session, reply.fields);
    const page = pageFrom(reply, from);
    if (page !== undefined) {
      return { page, owner: stored };
    }
    first = baseFrom(reply.fields);
  }
}

function stateOf(keys: SessionKeys): Command {
  return { verb: "hmget", args: [keys.state, ...viewFields] };
}

// Native commands in a MULTI, because a script that returns a thousand records takes twice as long (Redis 7.0). A
// server that is out of memory refuses to queue any command, even reads, but still runs a read-only script.
async function atOnce(
  { runner, session, name, keys }: Omit<Read, "index">,
  commands: readonly Command[],
  { script, args }: Pick<ScriptCall, "script" | "args">,
): Promise<unknown[]> {
  const byScript = async () => {
    const call = { script, keys: [keys.log, keys.ids, keys.state], args: [askText(session), ...args], writes: false };
    const [, ...reply] = (await runOnSession(runner, name, call)) as unknown[];
    return reply;
  };
  try {
    const reply = await runner.transaction(name, commands);
    return session.owner !== undefined && hasLostState(reply) ? await byScript() : reply;
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === "out_of_memory") {
      return byScript();
    }
    throw error;
  }
}

/** True if records or ids are left of a session whose state is gone: only the gate can tell whose it is. */
function hasLostState([fields, records, ...counts]: readonly unknown[]): boolean {
  const state = fields as (string | null)[];
  const isGone = [state[viewFields.indexOf("next")], state[viewFields.indexOf("owner")]].every(
    (field) => field === null,
  );
  return (
    isGone && ((records as unknown[]).length > 0 || counts.some((count) => !Array.isArray(count) && Number(count) > 0))
  );
}
