import type { RedisClient, CommandBatch } from "./connection.js";
import { type CallName, isRedirection, replicaError, unknownReply } from "./errors.js";
import { StoreError } from "../../base/errors.js";
import { laterScripts, type Script } from "./script.js";
import { RoundTrips, type RoundTrip, type RoundTripOptions } from "./round-trips.js";
import { refusalFrom } from "../contract/refusals.js";
import { randomToken } from "../../base/ids.js";
import type { SessionRef } from "../contract/session-ref.js";

/** A script with its keys and arguments. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer | number)[];
  readonly writes: boolean;
}

/** Options of {@link ScriptRunner}. */
export interface ScriptRunnerOptions extends RoundTripOptions {
  /** Number of replicas that must acknowledge a write. */
  readonly waitReplicas: number | undefined;
}

/** The scripts that every history sends. */
export type FirstScripts = typeof import("./lua/scripts.js");
let loadedScripts: FirstScripts | undefined;

/** The scripts of appends, reads and clear, loaded with the first of these that a process sends. */
export function firstScripts(): FirstScripts | Promise<FirstScripts> {
  return loadedScripts ?? import("./lua/scripts.js").then((scripts) => (loadedScripts = { ...scripts }));
}

/** Sends one of them, at once where they are loaded. */
export function byFirstScripts<T>(send: (scripts: FirstScripts) => Promise<T>): Promise<T> {
  const scripts = firstScripts();
  return scripts instanceof Promise ? scripts.then(send) : send(scripts);
}

/** Hashes of the scripts sent through each client, shared by all stores of the client. */
const sentScripts = new WeakMap<RedisClient, Set<string>>();

/**
 * Sends commands and scripts, each call within the command timeout.
 *
 * The first call of a script through a client sends its text, so that a server that has not cached it costs no second
 * round trip; later calls send its hash, and a server that lost the script gets the text again. Temporary refusals (a
 * slot that migrates, a server that loads its data) are retried until the time is up. Errors are {@link StoreError}s.
 */
export class ScriptRunner {
  readonly #options: ScriptRunnerOptions;
  readonly #roundTrips: RoundTrips;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
    this.#roundTrips = new RoundTrips(options);
  }

  /** Runs a script and returns what `accept` makes of its reply. */
  run<Result = unknown>(
    name: CallName,
    call: ScriptCall,
    accept: Accept<Result> = same as Accept<Result>,
  ): Promise<Result> {
    const send = (client: RedisClient, trip: RoundTrip) => this.#sendScript(client, call, trip);
    const acceptRun = (reply: unknown) => {
      // Somebody opened a transaction on the connection: nothing was run yet.
      if (reply === "QUEUED") {
        throw unknownReply(name);
      }
      return accept(reply);
    };
    return this.#roundTrips.make({ name, writes: call.writes, send, accept: acceptRun });
  }

  /** Sends a command and returns its reply. */
  command(name: CallName, command: Command, keys: readonly string[] = []): Promise<unknown> {
    const send = (client: RedisClient, trip: RoundTrip) => this.#send(client, { command, keys, writes: true }, trip);
    return this.#roundTrips.make({ name, writes: true, send, accept: same });
  }

  /** Sends a command that changes nothing and returns its reply. */
  read(name: CallName, command: Command): Promise<unknown> {
    return this.send(name, (client) => sendAlone(client, command));
  }

  /** Runs a read of `send` on the client itself, within the command timeout. */
  send<T>(name: CallName, send: (client: RedisClient) => Promise<T>): Promise<T> {
    return this.#roundTrips.make({ name, writes: false, send, accept: same });
  }

  /**
   * Runs read commands in one MULTI and returns their replies, a consistent snapshot. Not a plain pipeline: a cluster
   * client may send that to a lagging replica.
   */
  transaction(name: CallName, commands: readonly Command[]): Promise<unknown[]> {
    const send = (client: RedisClient) => sendTogether(client, commands);
    const accept = (replies: unknown[]) => repliesTo(name, commands, replies);
    return this.#roundTrips
      .make({ name, writes: false, send, accept })
      .catch((error: unknown) => this.#byScript(name, commands, error));
  }

  /** As {@link transaction}, for several that are sent together, each of one hash slot. */
  transactions(name: CallName, all: readonly (readonly Command[])[]): Promise<unknown[][]> {
    const send = (client: RedisClient) => Promise.all(all.map((commands) => sendTogether(client, commands)));
    const accept = (replies: unknown[][]) => all.map((commands, index) => repliesTo(name, commands, replies[index]!));
    return this.#roundTrips
      .make({ name, writes: false, send, accept })
      .catch((error: unknown) => Promise.all(all.map((commands) => this.#byScript(name, commands, error))));
  }

  /** A server that is out of memory queues no command, not even a read, but still runs a script that reads. */
  async #byScript(name: CallName, commands: readonly Command[], error: unknown): Promise<unknown[]> {
    if (!StoreError.isInstance(error) || error.code !== "out_of_memory") {
      throw error;
    }
    const { readTogetherScript: script } = await laterScripts();
    const keys = new Set(commands.flatMap(({ args: [key] }) => (key === undefined ? [] : [String(key)])));
    const args = [JSON.stringify(commands.map(({ verb, args }) => [verb, ...args.map(String)]))];
    return (await this.run(name, { script, keys: [...keys], args, writes: false })) as unknown[];
  }

  /** Makes all later calls fail with `closed`. */
  close(): void {
    this.#roundTrips.close();
  }

  #sendScript(client: RedisClient, call: ScriptCall, trip: RoundTrip): Promise<unknown> {
    const { sha } = call.script;
    if (!trip.needsText && sentScripts.get(client)?.has(sha) === true) {
      return this.#send(client, sendingOf(call, true), trip);
    }
    return this.#send(client, sendingOf(call, false), trip).then((reply) => {
      sentScripts.set(client, (sentScripts.get(client) ?? new Set()).add(sha));
      return reply;
    });
  }

  #send(client: RedisClient, { command, keys, writes }: Sending, trip: RoundTrip): Promise<unknown> {
    const replicas = writes ? this.#options.waitReplicas : undefined;
    const { exchange, at } = trip;
    return replicas === undefined
      ? sendAlone(client, command)
      : sendAndWait(client, { command, key: keys[0]!, name: exchange.name, replicas, at });
  }
}

const same = <T>(reply: T) => reply;

/** Makes a result of a reply, in the promise of the call itself. */
export type Accept<Result> = (reply: unknown) => Result | Promise<Result>;

/** Refuses replies of a client on which the application has a transaction of its own open. */
function repliesTo(name: CallName, commands: readonly Command[], replies: unknown[]): unknown[] {
  if (replies.length !== commands.length) {
    throw unknownReply(name);
  }
  return replies;
}

interface Sending {
  readonly command: Command;
  readonly keys: readonly string[];
  readonly writes: boolean;
}

function sendingOf({ script, keys, args, writes }: ScriptCall, isSent: boolean): Sending {
  const [verb, text] = isSent ? ["evalsha", script.sha] : ["eval", script.source];
  return { command: { verb, args: [text, keys.length, ...keys, ...args] }, keys, writes };
}

/**
 * Runs a script on a session and returns what `accept` makes of its reply, a list that begins with a word; a text where
 * an append took its short path.
 *
 * @throws the error of a refusal, see {@link refusalFrom}.
 */
export function runOnSession<Result = unknown>(
  runner: ScriptRunner,
  name: CallName,
  call: ScriptCall,
  accept: Accept<Result> = same as Accept<Result>,
): Promise<Result> {
  return runner.run(name, call, (reply) => {
    // The short paths reply with a number, or a list that begins with one, and refuse nothing.
    const [word, detail] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const refusal = typeof word === "string" && word >= "A" ? refusalFrom(word, detail, name) : undefined;
    if (refusal !== undefined) {
      throw refusal;
    }
    return accept(reply);
  });
}

/**
 * A command. Its arguments stay one array all the way, because spreading 100,000 arguments into a call overflows the
 * stack.
 */
export interface Command {
  readonly verb: string;
  readonly args: (string | Buffer | number)[];
}

/** Sends a command and returns its reply. */
export function sendAlone(client: RedisClient, command: Command): Promise<unknown> {
  // A pipeline of one is exempt from automatic pipelining, which in a cluster mixes commands for several nodes and then
  // fails to follow redirections.
  if (pipelinesByItself(client)) {
    return exec(client.pipeline(batch([command]))).then((answers) => results(answers)[0]);
  }
  return client.call(command.verb, command.args);
}

/** A write and the number of replicas that must acknowledge it. */
interface WaitingCommand {
  readonly command: Command;
  readonly key: string;
  readonly name: CallName;
  readonly replicas: number;
  /** End of the call's time, as `performance.now()`. */
  readonly at: number;
}

/**
 * Sends a write, waits until the replicas acknowledge it, and returns its reply.
 *
 * @throws StoreError `unavailable` if too few replicas acknowledge it in time.
 */
async function sendAndWait(
  client: RedisClient,
  { command, key, name, replicas, at }: WaitingCommand,
): Promise<unknown> {
  // At most half of the remaining time, so that a redirection can be followed and the reply arrives in time. Never 0:
  // WAIT would then block for ever.
  const wait = () => ({ verb: "wait", args: [replicas, Math.max(1, Math.floor(0.5 * (at - performance.now())))] });
  let [[error, reply], [waitError, acknowledgements]] = await pair(client, [command, wait()]);
  if (error !== null && isRedirection(error)) {
    // ioredis does not follow redirections in a pipeline that contains WAIT. EXISTS routes the second WAIT to the node
    // that holds the key.
    reply = await sendAlone(client, command);
    [[error], [waitError, acknowledgements]] = await pair(client, [{ verb: "exists", args: [key] }, wait()]);
  }
  const failure = error ?? waitError;
  if (failure !== null) {
    throw failure;
  }
  if (Number(acknowledgements) < replicas) {
    throw replicaError(name, { replicas, acknowledgements: Number(acknowledgements) });
  }
  return reply;
}

async function pair(
  client: RedisClient,
  commands: readonly [Command, Command],
): Promise<[[Error | null, unknown], [Error | null, unknown]]> {
  const [first, second] = (await exec(client.pipeline(batch(commands)))) ?? [];
  return [first!, second!];
}

/** Sends commands in one MULTI and returns their replies; again where a WATCH of the application made it fail. */
export function sendTogether(client: RedisClient, commands: readonly Command[]): Promise<unknown[]> {
  const send = () => exec(client.multi(batch(commands)));
  return send().then(async (answers) => results(answers ?? (await send())));
}

/**
 * Sends a batch and empties it once it has its replies.
 *
 * The constructor of ioredis's batches defines an own getter, so that V8 keeps each batch and its replies until a full
 * garbage collection, and copies the young objects in it until then: a quarter of the time of a read of 20 messages.
 */
async function exec(sent: CommandBatch): ReturnType<CommandBatch["exec"]> {
  try {
    return await sent.exec();
  } finally {
    for (const field of Object.keys(sent)) {
      Reflect.set(sent, field, undefined);
    }
  }
}

function batch(commands: readonly Command[]): [name: string, ...args: unknown[]][] {
  return commands.map(({ verb, args }) => [verb, args]);
}

function results(answers: readonly [Error | null, unknown][] | null): unknown[] {
  return (answers ?? []).map(([error, result]) => {
    if (error !== null) {
      throw error;
    }
    // The batch's commands keep the arrays of ioredis, see exec().
    return Array.isArray(result) ? result.splice(0) : result;
  });
}

/** True if the client collects commands into pipelines by itself (`enableAutoPipelining`). */
function pipelinesByItself({ options }: RedisClient): boolean {
  return (options as { readonly enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining === true;
}

/**
 * The part of a script's request that the gate checks: owner, label of a new session, hold, and encryption keys. The
 * only place that converts a {@link SessionRef} for scripts.
 */
export function askOf({ owner, label, hold, keys }: SessionRef) {
  return {
    owner,
    label,
    labelVersion: label ? randomToken() : undefined,
    expectedEpoch: hold?.epoch,
    fencingToken: hold?.token,
    keys: keys && { name: keys.name, ...keys.made },
  };
}

/** The request of a script without further fields; an empty one of a caller that has nothing but the id. */
export function askText(session: SessionRef): string {
  return Object.keys(session).length === 1 ? "{}" : JSON.stringify(askOf(session));
}
