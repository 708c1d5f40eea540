import { tracingChannel } from "node:diagnostics_channel";
import type { Command, Redis } from "ioredis";
import type { RedisClient } from "./client.js";

/** Undocumented but typed parts of an ioredis client. */
type Wire = Pick<Redis, "options" | "sendCommand" | "status" | "stream">;

type WriteableStream = NonNullable<Parameters<Redis["sendCommand"]>[1]>;

type CommandClass = new (...args: ConstructorParameters<typeof Command>) => Command;

/** The class of a client's commands, and the client's own way to begin a batch. */
interface Own {
  readonly Command: CommandClass;
  readonly multi: unknown;
}

/** By client; undefined for one that is not as expected. */
const owns = new WeakMap<object, Own | undefined>();

const [commandTraces, batchTraces] = [tracingChannel("ioredis:command"), tracingChannel("ioredis:batch")];

/** Node's own: tests that stop the clock replace the function in `process`, and would keep back what was written. */
const { nextTick } = process;

const corked = new WeakSet<object>();

/**
 * Corks the client's socket until the tick ends, so that calls of one tick share one system call. Preserves the order.
 */
export function corkForTick(client: RedisClient): void {
  const { status, stream } = client as Partial<Wire>;
  if (status !== "ready" || typeof stream?.cork !== "function" || corked.has(stream)) {
    return;
  }
  corked.add(stream);
  stream.cork();
  nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

/**
 * Sends read commands in one MULTI, bypassing the client's batch, which would take most of the time of a read. Returns
 * undefined, and sends nothing, if only the batch is equivalent.
 *
 * The promise resolves with undefined if the reply is not of this transaction, as after a WATCH of the application:
 * then retry with the batch.
 */
export function sendTransaction(
  client: RedisClient,
  commands: readonly { readonly verb: string; readonly args: (string | Buffer | number)[] }[],
): Promise<unknown[] | undefined> | undefined {
  const Class = isPlain(client as Partial<Wire>) ? commandClassOf(client) : undefined;
  if (Class === undefined) {
    return undefined;
  }
  const parts = commands.map(({ verb, args }) => new Class(verb, args, { replyEncoding: "utf8" }));
  const exec = new Class("exec");
  return replyTo(client, [new Class("multi"), ...parts, exec]).then((reply) => resultsOf(parts, reply));
}

/** Sends the commands; when all are settled, resolves with the reply to the last, or rejects with the first error. */
function replyTo(client: RedisClient, commands: readonly Command[]): Promise<unknown> {
  const stream = asOneWrite(client as unknown as Wire, commands.length);
  return new Promise((resolve, reject) => {
    let open = commands.length;
    let last: unknown;
    let failure: Error | undefined;
    const settle = () => {
      open -= 1;
      if (open > 0) {
        return;
      }
      if (failure === undefined) {
        resolve(last);
      } else {
        reject(failure);
      }
    };
    const fail = (error: Error) => {
      failure ??= error;
      settle();
    };
    const finish = (reply: unknown) => {
      last = reply;
      settle();
    };
    for (const [index, command] of commands.entries()) {
      const isLast = index === commands.length - 1;
      command.resolve = isLast ? finish : settle;
      command.reject = fail;
      // After a reconnect the client decides by this flag which commands to resend.
      command.inTransaction = !isLast;
      command.pipelineIndex = index;
      (client as unknown as Wire).sendCommand(command, stream);
    }
  });
}

/**
 * Collects `count` commands and writes them to the client's socket with the last one, as the client's own batches do,
 * again whenever they are resent. Written one by one to a socket that breaks at the first, the others would wait for
 * the next connection, which would then get a MULTI without its EXEC.
 */
function asOneWrite(client: Wire, count: number): WriteableStream {
  let texts: (string | Buffer)[] = [];
  const write = (text: string | Buffer) => {
    texts.push(text);
    if (texts.length === count) {
      const all = texts;
      texts = [];
      client.stream.write(joined(all));
    }
  };
  return { isPipeline: true, destination: { redis: client }, write } as unknown as WriteableStream;
}

function joined(texts: readonly (string | Buffer)[]): string | Buffer {
  return texts.every((text) => typeof text === "string")
    ? texts.join("")
    : Buffer.concat(texts.map((text) => (typeof text === "string" ? Buffer.from(text) : text)));
}

function resultsOf(parts: readonly Command[], replies: unknown): unknown[] | undefined {
  if (!Array.isArray(replies) || replies.length !== parts.length) {
    return undefined;
  }
  return replies.map((reply: unknown, index) => {
    if (reply instanceof Error) {
      throw reply;
    }
    return parts[index]!.transformReply(reply as Buffer);
  });
}

/**
 * True for a ready client of one server that does not transform commands. Friendly stacks, key prefixes, command
 * timeouts and batch traces are implemented by the batch, or by promises that are bypassed here.
 */
function isPlain({ status, stream, options }: Partial<Wire>): boolean {
  return (
    status === "ready" &&
    stream !== undefined &&
    !options?.keyPrefix &&
    options?.commandTimeout === undefined &&
    options?.enableAutoPipelining !== true &&
    options?.showFriendlyErrorStack !== true &&
    // Undefined in versions of Node.js that cannot tell.
    commandTraces.hasSubscribers === false &&
    batchTraces.hasSubscribers === false
  );
}

/** The class of the client's commands; undefined where it is not as expected, or a proxy or a test sees each batch. */
function commandClassOf(client: RedisClient): CommandClass | undefined {
  if (!owns.has(client)) {
    owns.set(client, ownOf(client));
  }
  const own = owns.get(client);
  return own !== undefined && own.multi === client.multi ? own.Command : undefined;
}

function ownOf(client: RedisClient): Own | undefined {
  // A class of the application's may be derived from ioredis's, which alone sends commands.
  let from = Object.getPrototypeOf(client) as (RedisClient & Wire) | null;
  while (from !== null && !Object.hasOwn(from, "sendCommand")) {
    from = Object.getPrototypeOf(from) as typeof from;
  }
  if (from === null || from.multi !== client.multi || from.call !== client.call) {
    return undefined;
  }
  const Command = classOfCommandsOf(client);
  return Command && { Command, multi: from.multi };
}

/** Lets the client make a command, which is not sent. */
function classOfCommandsOf(client: RedisClient): CommandClass | undefined {
  let made: Command | undefined;
  const catcher = Object.create(client, { sendCommand: { value: (command: Command) => void (made = command) } });
  try {
    void (catcher as RedisClient).call("echo", ["é"]);
    return made !== undefined && isAsExpected(made) ? (made.constructor as CommandClass) : undefined;
  } catch {
    return undefined;
  }
}

function isAsExpected(command: Command): boolean {
  return (
    typeof command.resolve === "function" &&
    typeof command.reject === "function" &&
    command.inTransaction === false &&
    command.toWritable({}) === "*2\r\n$4\r\necho\r\n$2\r\né\r\n" &&
    command.transformReply(Buffer.from("é")) === "é"
  );
}
