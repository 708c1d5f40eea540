import { isRedirection, replicaError, type CallName } from "./errors.js";
import { pipelinesByItself, type CommandBatch, type RedisClient } from "./client.js";

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
export interface WaitingCommand {
  readonly command: Command;
  readonly key: string;
  readonly name: CallName;
  readonly asked: number;
  /** End of the call's time, as `performance.now()`. */
  readonly at: number;
}

/**
 * Sends a write, waits until the replicas acknowledge it, and returns its reply.
 *
 * @throws StoreError `unavailable` if too few replicas acknowledge it in time.
 */
export async function sendAndWait(
  client: RedisClient,
  { command, key, name, asked, at }: WaitingCommand,
): Promise<unknown> {
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
  const [first, second] = (await exec(client.pipeline(batch(commands)))) ?? [];
  return [first!, second!];
}

/** Sends commands in one MULTI and returns their replies. */
export async function sendTogether(client: RedisClient, commands: readonly Command[]): Promise<unknown[]> {
  return results(await exec(client.multi(batch(commands))));
}

/**
 * Sends a batch and takes everything from it when it has its replies.
 *
 * The constructor of ioredis's batches defines a property with a getter of its own. By that V8 keeps each batch, and
 * the replies in it, until it collects all memory; what young objects they hold is copied until then. Of a read of 20
 * messages that was a quarter of the time.
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
