import { Redis } from "ioredis";
import { onNode } from "./redis-cluster.js";
import { freePort, onFreePort, startRedisOn, startSentinelOn, type PrivateRedis } from "./redis-server.js";
import type { TlsFiles } from "./tls-files.js";
import { until } from "./until.js";

/** A master, a replica and Sentinels that watch them, on loopback ports. */
export interface PrivateSentinels {
  /** The name under which the Sentinels know the master. */
  readonly name: string;
  /** Those on which they speak TLS, where they do. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** `redis+sentinel://` with all Sentinels. */
  readonly url: string;
  /** The master and the replica as they were at the start. */
  readonly master: PrivateRedis;
  readonly replica: PrivateRedis;
  /** Lets the Sentinels take the master for down after another time of silence, in milliseconds. */
  noticeSilence(downAfter: number): Promise<void>;
  /** Waits until the Sentinels name a replica as master. */
  untilPromoted(): Promise<void>;
  stop(): Promise<void>;
}

/** Options of {@link startSentinels}. */
export interface SentinelOptions {
  /** Milliseconds of silence after which the Sentinels take the master for down. @default 2000 */
  readonly downAfter?: number;
  /** Password of the master and the replica. @default none */
  readonly password?: string;
  /** @default 1 */
  readonly replicas?: number;
  /** Servers and Sentinels that speak TLS to each other and to clients. @default none */
  readonly tls?: TlsFiles;
}

const name = "mymaster";

/** Starts them and waits until the replica is in sync and every Sentinel knows it and the other Sentinels. */
export async function startSentinels(options: SentinelOptions = {}): Promise<PrivateSentinels> {
  const { downAfter = 2_000, password, replicas: replicaCount = 1, tls } = options;
  const processes: PrivateRedis[] = [];
  const stop = async () => void (await Promise.all(processes.map((process) => process.stop())));
  try {
    const { server: master, port: masterPort } = await startServer(["--repl-diskless-sync-delay", "0"], tls);
    processes.push(master);
    for (let index = 0; index < replicaCount; index += 1) {
      const replica = await startServer(["--replicaof", "127.0.0.1", String(masterPort)], tls);
      processes.push(replica.server);
    }
    const servers = [...processes];
    const [replica, ...others] = servers.slice(1) as [PrivateRedis, ...PrivateRedis[]];
    for (const { port } of [replica, ...others]) {
      await untilServer(port, async (client) => (await client.info("replication")).includes("link_status:up"));
    }
    if (password !== undefined) {
      await Promise.all(servers.map((server) => protect(server, password)));
    }
    const doors: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      const sentinel = await startSentinel(configuration(masterPort, { downAfter, password }), tls);
      processes.push(sentinel.server);
      doors.push(sentinel.port);
    }
    const ports = processes.slice(servers.length).map(({ port }) => port);
    for (const port of ports) {
      await untilServer(port, (client) => knowsAll(client, replicaCount));
    }
    return {
      name,
      sentinels: doors.map((port) => ({ host: "127.0.0.1", port })),
      url: `redis+sentinel://${doors.map((port) => `127.0.0.1:${port}`).join(",")}/${name}`,
      master,
      replica,
      noticeSilence: async (silence) => {
        for (const sentinel of processes.slice(servers.length)) {
          await onNode(sentinel, (client) => client.call("SENTINEL", "SET", name, "down-after-milliseconds", silence));
        }
      },
      untilPromoted: async () => {
        for (const port of ports) {
          await untilServer(port, async (client) => Number((await masterAddress(client))[1]) !== masterPort);
        }
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A process with the port on which clients reach it: that of TLS, where it speaks TLS. */
interface Reachable {
  readonly server: PrivateRedis;
  readonly port: number;
}

function startServer(args: readonly string[], tls: TlsFiles | undefined): Promise<Reachable> {
  return onFreePort(async (port) => {
    const tlsPort = await freePort();
    const server = await startRedisOn(port, [...args, ...(tls?.args(tlsPort) ?? [])]);
    return { server, port: tls === undefined ? port : tlsPort };
  });
}

function startSentinel(lines: readonly string[], tls: TlsFiles | undefined): Promise<Reachable> {
  return onFreePort(async (port) => {
    const tlsPort = await freePort();
    const server = await startSentinelOn(port, [...lines, ...(tls?.lines(tlsPort) ?? [])]);
    return { server, port: tls === undefined ? port : tlsPort };
  });
}

async function protect({ port }: PrivateRedis, password: string): Promise<void> {
  const client = new Redis({ port, host: "127.0.0.1" });
  await client.config("SET", "masterauth", password, "requirepass", password);
  client.disconnect();
}

function configuration(masterPort: number, { downAfter, password }: SentinelOptions): string[] {
  return [
    `sentinel monitor ${name} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${name} ${downAfter}`,
    `sentinel failover-timeout ${name} 5000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${name} ${password}`]),
  ];
}

async function knowsAll(client: Redis, replicaCount: number): Promise<boolean> {
  const replicas = (await client.call("SENTINEL", "REPLICAS", name)) as unknown[];
  const others = (await client.call("SENTINEL", "SENTINELS", name)) as unknown[];
  return replicas.length === replicaCount && others.length === 2;
}

async function masterAddress(client: Redis): Promise<[string, string]> {
  return (await client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)) as [string, string];
}

async function untilServer(port: number, holds: (client: Redis) => Promise<boolean>): Promise<void> {
  const client = new Redis({ port, host: "127.0.0.1" });
  try {
    await until("the Sentinels and their servers agree", () => holds(client));
  } finally {
    client.disconnect();
  }
}
