import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { startFakedClockRedis, type FakedClockRedis } from "../../testkit/clocks/faked-clock.js";
import type { World } from "./world.js";

/** Commands with their arguments, which may be lists. */
export type Parts = readonly (readonly [name: string, ...args: unknown[]])[];

/** All keys at a moment: what a dump or a replica has. */
type Dump = readonly { readonly key: string; readonly value: Buffer; readonly expiresAt: number }[];

/**
 * A real server whose clock is the world's. Hashes keep the order in which they were filled, however large, so that no
 * reply depends on the server's own random numbers.
 */
const settings = ["--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "100000000"].concat(
  ...[
    ["--enable-debug-command", "yes"],
    ["--maxmemory-policy", "noeviction"],
    ["--hz", "1"],
  ],
);

export class SimulatedServer {
  readonly #server: FakedClockRedis;
  readonly #folder: string;
  readonly #client: Redis;
  #world!: World;
  #seconds = 0;
  #dump: Dump = [];
  #isFull = false;
  #names: ReadonlyMap<string, string> = new Map();
  readonly #hashes = new Map<string, string>();

  private constructor(server: FakedClockRedis, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.#client = new Redis({ path: socketIn(folder) });
  }

  static async start(): Promise<SimulatedServer> {
    // A socket of the file system takes half the time of a port.
    const folder = mkdtempSync(join(tmpdir(), "lcmem-simulation-"));
    const socket = ["--unixsocket", socketIn(folder)];
    const server = new SimulatedServer(await startFakedClockRedis(0, [...settings, ...socket]), folder);
    // A key that is over is removed when it is asked for, not at a time of the server's choice.
    await server.#client.call("DEBUG", "SET-ACTIVE-EXPIRE", "0");
    return server;
  }

  /** Begins a world with nothing stored. Scripts have these names, by their hashes and by their texts. */
  async begin(world: World, names: ReadonlyMap<string, string>): Promise<void> {
    this.#world = world;
    this.#names = names;
    this.#seconds = 0;
    await this.setFull(false);
    await this.#client.flushall();
  }

  /** Does what a client asks, at the world's time. */
  async execute({
    kind,
    parts,
  }: {
    readonly kind: "call" | "multi" | "pipeline";
    readonly parts: Parts;
  }): Promise<unknown> {
    this.#setClock();
    if (kind !== "call") {
      return this.#client[kind](parts as never).exec();
    }
    const [name, ...args] = parts[0]!;
    if (name.toLowerCase() === "eval") {
      return this.#run(args as [string, ...string[]]);
    }
    const reply = await this.#client.call(name, args as string[]);
    return name.toLowerCase() === "scan" ? inOrder(reply as [string, string[]]) : reply;
  }

  /** Runs a script by its hash where the server has it, which to clients is the same, and spares it the long text. */
  async #run([text, ...args]: readonly [string, ...string[]]): Promise<unknown> {
    const hash = this.#hashes.get(text) ?? createHash("sha1").update(text).digest("hex");
    this.#hashes.set(text, hash);
    try {
      return await this.#client.call("evalsha", [hash, ...args]);
    } catch (error) {
      if (!(error as Error).message.startsWith("NOSCRIPT")) {
        throw error;
      }
      return this.#client.call("eval", [text, ...args]);
    }
  }

  async flushScripts(): Promise<void> {
    await this.#client.script("FLUSH");
  }

  /** Removes single keys, as a server that is short of memory does with a policy that is not `noeviction`. */
  async evict(...keys: readonly string[]): Promise<number> {
    this.#setClock();
    return this.#client.unlink(...keys);
  }

  /** Lets the time of keys run out, in so many milliseconds. */
  async expire(keys: readonly string[], milliseconds: number): Promise<boolean> {
    this.#setClock();
    const replies = await Promise.all(keys.map((key) => this.#client.pexpire(key, milliseconds)));
    return replies.includes(1);
  }

  /** Lets writes fail for want of memory, or not. */
  async setFull(isFull: boolean): Promise<void> {
    if (isFull === this.#isFull) {
      return;
    }
    this.#isFull = isFull;
    await this.#client.config("SET", "maxmemory", isFull ? "1" : "0");
  }

  /** Keeps what is stored now, as a dump on disk or a replica does. */
  async keep(): Promise<void> {
    this.#setClock();
    const keys = (await this.#client.keys("*")).sort();
    this.#dump = await Promise.all(
      keys.map(async (key) => ({
        key,
        value: (await this.#client.dumpBuffer(key))!,
        expiresAt: Math.max(0, Number(await this.#client.call("PEXPIRETIME", key))),
      })),
    );
  }

  /** Goes on with what was kept, and with no scripts. */
  async goBack(): Promise<void> {
    this.#setClock();
    await this.#client.flushall();
    await this.#client.script("FLUSH");
    // A server that starts loads its data however much room it has.
    await this.#client.config("SET", "maxmemory", "0");
    await Promise.all(
      this.#dump.map(({ key, value, expiresAt }) => this.#client.restore(key, expiresAt, value, "ABSTTL")),
    );
    await this.#client.config("SET", "maxmemory", this.#isFull ? "1" : "0");
  }

  /** A request in words: the script or the command, and the first key. */
  sayingOf(parts: Parts): string {
    const words = (name: string, args: readonly unknown[]) => {
      const isScript = name === "eval" || name === "evalsha";
      const shown = isScript ? [this.#names.get(String(args[0])) ?? "unknown script", args[2]] : args.slice(0, 2);
      return [name, ...shown].map((each) => String(each).slice(0, 60)).join(" ");
    };
    return parts.map(([name, ...args]) => words(name.toLowerCase(), args.flat())).join(", ");
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #setClock(): void {
    const seconds = this.#world.serverSeconds;
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#server.stopClock(seconds);
    }
  }
}

/** A page of keys, in an order that is the same on all servers. */
function inOrder([cursor, keys]: [string, string[]]): [string, string[]] {
  return [cursor, [...keys].sort()];
}

function socketIn(folder: string): string {
  return join(folder, "socket");
}
