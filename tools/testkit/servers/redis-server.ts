import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { requireRedisServer } from "./redis-binary.js";

export { findRedisServer } from "./redis-binary.js";

/** A private server on a free loopback port, without persistence. */
export interface PrivateRedis {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a server and waits until it answers. It dies with this process. */
export function startRedis(args: readonly string[] = []): Promise<PrivateRedis> {
  return onFreePort((port) => startRedisOn(port, args));
}

/** Starts a server on a port that the caller chose, with variables added to its environment. */
export function startRedisOn(
  port: number,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<PrivateRedis> {
  const volatile = ["--save", "", "--appendonly", "no"];
  return startProcess(port, (folder) => [...network(port), ...volatile, "--dir", folder, ...args], environment);
}

/** Starts a Sentinel on a port that the caller chose, with these lines as its configuration. */
export function startSentinelOn(port: number, configuration: readonly string[]): Promise<PrivateRedis> {
  return startProcess(port, (folder) => {
    const file = join(folder, "sentinel.conf");
    writeFileSync(file, configuration.join("\n"));
    return [file, "--sentinel", ...network(port), "--dir", folder];
  });
}

function network(port: number): string[] {
  return ["--port", String(port), "--bind", "127.0.0.1"];
}

async function startProcess(
  port: number,
  args: (folder: string) => readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-redis-"));
  const env = { ...process.env, ...environment };
  const server = spawn(requireRedisServer(), args(folder), { stdio: "ignore", env });
  const kill = () => server.kill("SIGKILL");
  // One listener for each server; a file of tests may start a dozen.
  process.setMaxListeners(Math.max(50, process.getMaxListeners()));
  process.once("exit", kill);
  const stop = async () => {
    process.off("exit", kill);
    if (server.exitCode === null && server.signalCode === null) {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      kill();
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(port, server);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, url: `redis://127.0.0.1:${port}`, process: server, stop };
}

/**
 * Starts something on a free port, and tries again on others where it does not come up: another program may have taken
 * the port, or one beside it that the start asks {@link freePort} for.
 */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (attempt === mostStarts) {
        throw error;
      }
    }
  }
}

const mostStarts = 5;

/**
 * A block of ports for each process: 10,000 to 19,999. A node of a cluster listens 10,000 higher too, which is in
 * nobody's block, and below the ports that systems give to clients and to servers without a port.
 */
const [firstPort, blocks, blockSize] = [10_000, 100, 100];
let next = Math.floor(Math.random() * blockSize);

/** A loopback port that nothing listens on. Start servers on it in {@link onFreePort}. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < blockSize; attempt += 1) {
    const port = firstPort + (process.pid % blocks) * blockSize + (next % blockSize);
    next += 1;
    if (await isFree(port)) {
      return port;
    }
  }
  throw new Error(`This process has taken all ${blockSize} ports of its block.`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const isListening = await new Promise<boolean>((resolve) =>
    probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)),
  );
  if (isListening) {
    await new Promise((resolve) => probe.close(resolve));
  }
  return isListening;
}

async function untilReady(port: number, server: ChildProcess): Promise<void> {
  // disconnectTimeout: its timer of 2 s would outlive a connection that was refused.
  const patience = { retryStrategy: () => 20, maxRetriesPerRequest: null, disconnectTimeout: 20 };
  const client = new Redis({ port, host: "127.0.0.1", lazyConnect: true, ...patience });
  client.on("error", () => undefined);
  try {
    const died = new Promise<never>((_, reject) => {
      server.once("exit", () => reject(new Error("redis-server stopped at start")));
      server.once("error", reject);
    });
    const info = await Promise.race([client.info("server"), died]);
    if (!info.includes(`process_id:${server.pid}\r`)) {
      throw new Error(`Another server than the one that was started answers on port ${port}.`);
    }
  } finally {
    client.disconnect();
  }
}
