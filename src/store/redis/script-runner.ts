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
 * A command. Its arguments stay one array all the way, because spreading 100,000 arguments into a call overflows the
 * stack.
 */
export interface Command {
  readonly verb: string;
  readonly args: (string | Buffer | number)[];
}

/** A script with its keys and arguments. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer | number)[];
  readonly writes: boolean;
}

/** Options of {@link ScriptRunner}. */
export interface ScriptRunnerOptions {
  readonly client: () => Promise<RedisClient>;
  /** Milliseconds that a call may take, including all retries. */
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
 * The first call of a script sends its text, so that a server that has not cached it costs no second round trip; later
 * calls send its hash, and a server that lost the script gets the text again. Temporary refusals (a slot that migrates,
 * a server that loads its data) are retried until the time is up. Every round trip is reported as a `command` event.
 * Errors are {@link StoreError}s.
 */
export class ScriptRunner {
  readonly #options: ScriptRunnerOptions;
  readonly #sent = new Set<string>();
  #closed = false;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
  }

  /** Runs a script and returns its reply. */
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

  /** Sends a command and returns its reply. */
  async command(name: CallName, command: Command, keys: readonly string[] = []): Promise<unknown> {
    return this.#attempt(this.#deadline(name), this.#sender(command, { keys, writes: true }));
  }

  /**
   * Runs commands in one MULTI and returns their replies, all of one moment. A plain pipeline would not do: a cluster
   * client may send it to a replica that lags.
   */
  async transaction(name: CallName, commands: readonly Command[]): Promise<unknown[]> {
    return this.#attempt(this.#deadline(name), async (client) => results(await client.multi(batch(commands)).exec()));
  }

  /** Makes all later calls fail with `closed`. */
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
          // For an unknown script the caller sends the text.
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
    let failure: Error | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(timeoutError(name, this.#options.commandTimeout)), at - began);
        this.#options
          .client()
          .then((client) => send(client, deadline))
          .then(resolve, reject);
      });
    } catch (error) {
      failure = isUnknownScript(error) ? undefined : toStoreError(error, name);
      throw error;
    } finally {
      clearTimeout(timer);
      report(this.#options.onEvent, {
        type: "command",
        operation: name.operation,
        sessionId: name.sessionId,
        milliseconds: performance.now() - began,
        ...(failure && { error: failure }),
      });
    }
  }
}

// A pipeline of one is exempt from automatic pipelining, which in a cluster mixes commands for several nodes and then
// fails to follow redirections.
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
  /** End of the call's time, as `performance.now()`. */
  readonly at: number;
}

async function sendAndWait(client: RedisClient, { command, key, name, asked, at }: WaitingCommand): Promise<unknown> {
  // At most half of the remaining time, so that a redirection can be followed and the reply arrives in time. Never 0:
  // WAIT would then block for ever.
  const wait = () => ({ verb: "wait", args: [asked, Math.max(1, Math.floor(0.5 * (at - performance.now())))] });
  let [[error, reply], [waitError, given]] = await pair(client, [command, wait()]);
  if (error !== null && isRedirection(error)) {
    // ioredis does not follow redirections in a pipeline that contains WAIT. EXISTS routes the second WAIT to the node
    // that holds the key.
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

function batch(commands: readonly Command[]): [name: string, ...args: unknown[]][] {
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
