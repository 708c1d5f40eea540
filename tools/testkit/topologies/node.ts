import { Redis } from "ioredis";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onFreePort, startRedisOn, type PrivateRedis } from "../servers/redis-server.js";
import { startFaultProxy, type FaultProxy } from "../proxies/fault-proxy.js";

/** A server of the run with its proxy. It keeps its data over restarts: every write is in its append-only file. */
export interface ServerNode {
  readonly port: number;
  readonly proxy: FaultProxy;
  readonly isRunning: boolean;
  /** Kills it as a machine that fails. */
  kill(): Promise<void>;
  /** Starts it again with its data. */
  start(more?: readonly string[]): Promise<void>;
  /** Freezes and thaws it. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Runs commands on the server itself, past the proxy. */
  use<T>(work: (client: Redis) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** Starts a server whose data stays in a folder. */
export async function startNode(
  folder: string,
  { name, args = [] }: { readonly name: string; readonly args?: readonly string[] },
): Promise<ServerNode> {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const durable = [
    ...["--dir", home, "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"],
    // A file that only grows would make each start take longer.
    ...["--auto-aof-rewrite-min-size", "8mb"],
  ];
  const begin = (at: number, more: readonly string[] = []) => startRedisOn(at, [...durable, ...args, ...more]);
  let server: PrivateRedis | undefined = await onFreePort(begin);
  const { port } = server;
  const proxy = await startFaultProxy(port);
  const client = new Redis({
    port,
    host: "127.0.0.1",
    maxRetriesPerRequest: 0,
    commandTimeout: 3_000,
    retryStrategy: () => 50,
  });
  client.on("error", () => undefined);
  const kill = async () => {
    server?.process.kill("SIGCONT");
    await server?.stop();
    server = undefined;
  };
  return {
    port,
    proxy,
    get isRunning() {
      return server !== undefined;
    },
    kill,
    start: async (more = []) => {
      server ??= await begin(port, more);
    },
    signal: (signal) => void server?.process.kill(signal),
    use: (work) => work(client),
    stop: async () => {
      client.disconnect();
      await Promise.all([proxy.stop(), kill()]);
    },
  };
}

/** The fields of a server's replication INFO. */
export async function replicationOf(node: ServerNode): Promise<Record<string, string>> {
  const text = await node.use((client) => client.info("replication"));
  return Object.fromEntries(text.split(/\r?\n/).map((line) => line.split(":") as [string, string]));
}

/** True where a server is a replica that has its master's data, or a master of so many replicas that have its data. */
export async function isInSync(node: ServerNode, replicas: number): Promise<boolean> {
  const found = await replicationOf(node);
  return found["role"] === "master"
    ? Number(found["connected_slaves"]) >= replicas
    : found["master_link_status"] === "up" && found["master_sync_in_progress"] === "0";
}
