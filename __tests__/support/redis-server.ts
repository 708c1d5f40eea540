import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Redis } from "ioredis";

/** A private server on a free loopback port, without persistence. */
export interface PrivateRedis {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** The path of a redis-server: REDIS_SERVER_BIN, or one on the PATH; undefined where there is none. */
export function findRedisServer(): string | undefined {
  const named = process.env["REDIS_SERVER_BIN"];
  if (named !== undefined && named !== "") {
    return named;
  }
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "redis-server"))
    .find(isExecutable);
}

/** The same, installing Debian's package where that is possible; an error with one sentence where it is not. */
export function requireRedisServer(): string {
  const found = findRedisServer();
  if (found !== undefined) {
    return found;
  }
  if (existsSync("/etc/debian_version") && process.getuid?.() === 0) {
    process.stderr.write("redis-server not found: installing Debian's package redis-server for the tests\n");
    const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    execFileSync("apt-get", ["update", "-qq"], { stdio: "ignore", env: environment });
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "redis-server"], { stdio: "ignore", env: environment });
    const installed = findRedisServer();
    if (installed !== undefined) {
      return installed;
    }
  }
  throw new Error("The tests need a redis-server: install one (for example `apt-get install redis-server`) or set REDIS_SERVER_BIN to its path.");
}

/** Starts a server and waits until it answers. It dies with this process. */
export async function startRedis(args: readonly string[] = []): Promise<PrivateRedis> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startRedisOn(await freePort(), args);
    } catch (error) {
      if (attempt === 3) {
        throw error;
      }
    }
  }
}

/** Starts a server on a port that the caller chose. */
export async function startRedisOn(port: number, args: readonly string[] = []): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-redis-"));
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const server = spawn(requireRedisServer(), [...fixed, ...args], { stdio: "ignore" });
  const kill = () => server.kill("SIGKILL");
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

/** A loopback port that nothing listens on, and never Redis's own default. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port === 6379 ? freePort() : port;
}

async function untilReady(port: number, server: ChildProcess): Promise<void> {
  const client = new Redis({ port, host: "127.0.0.1", lazyConnect: true, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  try {
    const died = new Promise<never>((_, reject) => {
      server.once("exit", () => reject(new Error("redis-server stopped at start")));
      server.once("error", reject);
    });
    await Promise.race([client.ping(), died]);
  } finally {
    client.disconnect();
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
