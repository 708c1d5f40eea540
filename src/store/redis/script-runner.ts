import { report, type MemoryEventHandler } from "../../events.js";
import { pipelinesByItself, type RedisClient } from "./redis-client.js";
import { closed } from "../refusals.js";
import type { Script } from "./scripts/script.js";
import {
  isPassing,
  isRedirection,
  isUnknownScript,
  replicaError,
  timeoutError,
  toStoreError,
  type CallName,
} from "./redis-errors.js";

/**
 * A command. Its arguments stay one list on their way, because a call with 100,000 arguments of its own overflows the
 * stack.
 */
export interface Command {
  readonly verb: string;
  readonly args: (string | Buffer | number)[];
}

/** A script with what it is called with. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer | number)[];
  readonly writes: boolean;
}

/** Where commands go, and how they are watched. */
export interface ScriptRunnerOptions {
  readonly client: () => Promise<RedisClient>;
  /** Milliseconds that a call may take, all its tries included. */
  readonly commandTimeout: number;
  /** Number of replicas that must acknowledge a write. */
  readonly waitReplicas: number | undefined;
  readonly onEvent: MemoryEventHandler | undefined;
}

interface Deadline {
  readonly name: CallName;
  readonly at: number;
}

/**
 * Sends commands and scripts, each call within the command timeout.
 *
 * A script goes as text the first time, so that a server that never saw it costs no second round trip, and by its hash
 * from then on; a server that forgot it gets the text again. What a cluster or a starting server refuses for the moment
 * is tried again until the time is up. Every flight is reported as a `command` event. Errors are {@link StoreError}s.
 */
export class ScriptRunner {
  readonly #options: ScriptRunnerOptions;
  readonly #sent = new Set<string>();
  #closed = false;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
  }

  /** The script's reply. */
  async run(name: CallName, call: ScriptCall): Promise<unknown> {
    const deadline = this.#deadline(name);
    const { sha, source } = call.script;
    const send = (verb: "eval" | "evalsha", script: string) =>
      this.#attempt(
        deadline,
        this.#sender({ verb, args: [script, call.keys.length, ...call.keys, ...call.args] }, call),
      );
    if (!this.#sent.has(sha)) {
      const reply = await send("eval", source);
      this.#sent.add(sha);
      return reply;
    }
    try {
      return await send("evalsha", sha);
    } catch (error) {
      if (!isUnknownScript(error)) {
        throw error;
      }
      return await send("eval", source);
    }
  }

  /** The command's reply. */
  async command(name: CallName, command: Command, keys: readonly string[] = []): Promise<unknown> {
    return this.#attempt(this.#deadline(name), this.#sender(command, { keys, writes: true }));
  }

  /**
   * The replies of commands that see one moment. MULTI, because a cluster client may send a bare pipeline to a replica
   * that lags.
   */
  async transaction(name: CallName, commands: readonly Command[]): Promise<unknown[]> {
    return this.#attempt(this.#deadline(name), async (client) => results(await client.multi(batch(commands)).exec()));
  }

  /** Refuses all calls from now on. */
  close(): void {
    this.#closed = true;
  }

  #sender(command: Command, { keys, writes }: { readonly keys: readonly string[]; readonly writes: boolean }) {
    const asked = writes ? this.#options.waitReplicas : undefined;
    return (client: RedisClient, { name, at }: Deadline) =>
      asked === undefined
        ? sendAlone(client, command)
        : sendAndWait(client, { command, key: keys[0]!, name, asked, at });
  }

  #deadline(name: CallName): Deadline {
    return { name, at: performance.now() + this.#options.commandTimeout };
  }

  async #attempt<T>(deadline: Deadline, send: (client: RedisClient, deadline: Deadline) => Promise<T>): Promise<T> {
    for (let pause = 10; ; pause = Math.min(2 * pause, 100)) {
      try {
        return await this.#flight(send, deadline);
      } catch (error) {
        const refusesForNow = isPassing(error) && performance.now() + pause < deadline.at;
        if (!refusesForNow) {
          // The text of a script is sent by the caller.
          throw isUnknownScript(error) ? error : toStoreError(error, deadline.name);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  async #flight<T>(send: (client: RedisClient, deadline: Deadline) => Promise<T>, deadline: Deadline): Promise<T> {
    const { name, at } = deadline;
    if (this.#closed) {
      throw closed(name.operation, name.sessionId);
    }
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(timeoutError(name, this.#options.commandTimeout)), at - began);
        this.#options
          .client()
          .then((client) => send(client, deadline))
          .then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
      report(this.#options.onEvent, {
        type: "command",
        operation: name.operation,
        sessionId: name.sessionId,
        milliseconds: performance.now() - began,
      });
    }
  }
}

// Automatic pipelines leave a pipeline of one alone. In a cluster they would send the command along with those for
// other nodes, and then fail to follow redirections.
function sendAlone(client: RedisClient, command: Command): Promise<unknown> {
  if (pipelinesByItself(client)) {
    return client
      .pipeline(batch([command]))
      .exec()
      .then((answers) => results(answers)[0]);
  }
  return client.call(command.verb, command.args);
}

interface WaitingCommand {
  readonly command: Command;
  readonly key: string;
  readonly name: CallName;
  readonly asked: number;
  /** When the call's time is up. */
  readonly at: number;
}

async function sendAndWait(client: RedisClient, { command, key, name, asked, at }: WaitingCommand): Promise<unknown> {
  // At most half of the time that is left, so that a redirection can be followed and the answer is here in time; 0
  // would mean to wait for ever.
  const wait = () => ({ verb: "wait", args: [asked, Math.max(1, Math.floor(0.5 * (at - performance.now())))] });
  let [[error, reply], [waitError, given]] = await pair(client, [command, wait()]);
  if (error !== null && isRedirection(error)) {
    // ioredis does not follow redirections in a pipeline that holds a WAIT. The key sends the second WAIT to the same
    // node.
    reply = await sendAlone(client, command);
    [[error], [waitError, given]] = await pair(client, [{ verb: "exists", args: [key] }, wait()]);
  }
  const failure = error ?? waitError;
  if (failure !== null) {
    throw failure;
  }
  if (Number(given) < asked) {
    throw replicaError(name, { asked, given: Number(given) });
  }
  return reply;
}

async function pair(
  client: RedisClient,
  commands: readonly [Command, Command],
): Promise<[[Error | null, unknown], [Error | null, unknown]]> {
  const [first, second] = (await client.pipeline(batch(commands)).exec()) ?? [];
  return [first!, second!];
}

function batch(commands: readonly Command[]): unknown[][] {
  return commands.map(({ verb, args }) => [verb, args]);
}

function results(answers: readonly [Error | null, unknown][] | null): unknown[] {
  return (answers ?? []).map(([error, result]) => {
    if (error !== null) {
      throw error;
    }
    return result;
  });
}
