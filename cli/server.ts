import { readFileSync } from "node:fs";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import type { Command } from "commander";
import type { MemoryEventHandler } from "../src/base/events.js";
import { RedisChatMemory } from "../src/memory/histories/redis-chat-memory.js";
import { urlOptions } from "../src/store/redis/connection-options.js";
import { defaultKeyPrefix } from "../src/store/redis/keys.js";
import { openStore } from "../src/memory/session/open-store.js";
import { RedisSessionStore } from "../src/store/redis-store/redis-session-store.js";
import type { SessionLists } from "../src/store/contract/session-ref.js";
import type { SessionStore } from "../src/store/contract/session-store.js";
import { encryptionKeysIn, keysVariable } from "./encryption-keys.js";
import { UnreachableError, UsageError } from "./failure.js";

/** The options that name the server. */
export interface ServerOptions {
  readonly url?: string;
  readonly cluster?: boolean;
  readonly prefix: string;
  /** Namespaces of long-term memory that hold the items of the owner. */
  readonly namespace?: readonly (readonly string[])[];
}

/** A connection that was opened, and the memory behind it. */
export interface Server {
  readonly client: Redis | Cluster;
  readonly keyPrefix: string;
  /** Opens and seals with the keys of the environment, where there are any. */
  readonly store: SessionStore;
  /** The same sessions as they lie in Redis: titles may be sealed. */
  readonly plainLists: SessionLists;
  /** Without a reducer: what the command reads stays as it is. */
  readonly memory: RedisChatMemory;
  /** The server's address without user and password. */
  readonly address: string;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Adds the options that every command with a server has. */
export function withServerOptions(command: Command): Command {
  return command
    .option("--url <url>", "server: redis://, rediss://, unix:// or redis+sentinel:// (default: REDIS_URL)")
    .option("--cluster", "fail unless the server is in a Cluster; one that is, is noticed anyway")
    .option("--prefix <prefix>", "prefix of the keys", defaultKeyPrefix)
    .addHelpText(
      "after",
      "\nEnvironment: REDIS_URL, REDIS_USERNAME, REDIS_PASSWORD; for TLS REDIS_TLS_CA,\n" +
        "REDIS_TLS_CERT and REDIS_TLS_KEY, each the path of a PEM file; for encrypted\n" +
        `sessions ${keysVariable}=id:base64,id:base64,\nthe current key first.`,
    );
}

/**
 * Connects to the server.
 *
 * @throws UsageError for a URL or file that cannot be used; UnreachableError if nobody answers or the login is refused.
 *   Neither shows the URL's user or password.
 */
export async function openServer(
  { url, cluster, prefix, namespace }: ServerOptions,
  env: Environment,
  onEvent?: MemoryEventHandler,
): Promise<Server> {
  const source = url ?? env["REDIS_URL"] ?? "redis://localhost:6379";
  const parsed = urlOptions({ url: source, option: url === undefined ? "REDIS_URL" : "--url", owner: "Server" });
  const encryption = encryptionKeysIn(env[keysVariable]);
  const options: RedisOptions = { ...parsed.options, ...login(env), ...tls(env), lazyConnect: true };
  const address = addressOf(source);
  const node = await connected(await oneNode(parsed.url, options), address);
  const isNode = await isOfCluster(node);
  if (cluster === true && !isNode) {
    node.disconnect();
    throw new UsageError(`Redis at ${address} is no node of a Cluster. Leave --cluster out, or check --url.`);
  }
  const client = isNode ? await clusterOf(parsed.url, { node, options, address }) : node;
  const plain = new RedisSessionStore({ client, keyPrefix: prefix });
  const { store } = openStore("Server", { store: plain, ...(encryption && { encryption }) });
  const ownerNamespaces = namespace && { ownerNamespaces: () => namespace };
  const memory = new RedisChatMemory({ store, ...ownerNamespaces, ...(onEvent && { onEvent }) });
  const close = async () => {
    await memory.drain();
    await plain.close();
    client.disconnect();
  };
  const sessions = { store: store as SessionStore, plainLists: plain.lists, memory };
  return { client, keyPrefix: prefix, ...sessions, address, close };
}

const retryStrategy = (times: number) => (times > 5 ? null : 200);

/** A client that gives up soon: whoever types a command waits for it. */
const limits: RedisOptions = {
  connectTimeout: 5_000,
  // Long enough for MEMORY USAGE of a log that is measured whole.
  commandTimeout: 10_000,
  maxRetriesPerRequest: 3,
  // If this user may not run INFO, ioredis would print a warning.
  enableReadyCheck: false,
  retryStrategy,
  // By itself ioredis asks the Sentinels for ever.
  sentinelRetryStrategy: retryStrategy,
  sentinelCommandTimeout: 1_000,
};

async function oneNode(url: string | undefined, options: RedisOptions): Promise<Redis> {
  const { Redis } = await import("ioredis");
  return url === undefined ? new Redis({ ...options, ...limits }) : new Redis(url, { ...options, ...limits });
}

/**
 * True for a node of a Redis Cluster: it holds a part of the sessions, and a client of this node alone would take that
 * part for all. A user who may not run INFO may still ask for the slots, as every client of a cluster does.
 */
async function isOfCluster(node: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1\r?$/m.test(await node.info("cluster"));
  } catch {
    return node.cluster("SLOTS").then(
      () => true,
      () => false,
    );
  }
}

/** A client of the whole cluster. The node was asked first, because a cluster's client does not say why it fails. */
async function clusterOf(
  url: string | undefined,
  { node, options, address }: { readonly node: Redis; readonly options: RedisOptions; readonly address: string },
): Promise<Cluster> {
  node.disconnect();
  if (url === undefined || url.startsWith("unix:")) {
    throw new UsageError("A Cluster needs the redis:// or rediss:// URL of one of its nodes.");
  }
  const { Cluster } = await import("ioredis");
  const redisOptions = { ...options, ...limits, ...forEveryNode(url, options) };
  // A Cluster that lacks slots is never ready; what is left of it can be looked at, and the doctor is asked then.
  const settings = { redisOptions, lazyConnect: true, enableReadyCheck: false, clusterRetryStrategy: retryStrategy };
  return connected(new Cluster([url], settings), address);
}

/** The URL's login and its TLS, which ioredis would use for the node that the URL names and for no other. */
function forEveryNode(url: string, options: RedisOptions): RedisOptions {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" && { tls: options.tls ?? {} }),
  };
}

async function connected<Client extends Redis | Cluster>(client: Client, address: string): Promise<Client> {
  let failure: Error | undefined;
  client.on("error", (error: Error & { lastNodeError?: Error }) => (failure ??= error.lastNodeError ?? error));
  try {
    await client.connect();
    await client.time();
    return client;
  } catch (error) {
    client.disconnect();
    throw new UnreachableError(`Redis at ${address} cannot be used: ${reasonOf(failure ?? (error as Error))}`);
  }
}

function login(env: Environment): RedisOptions {
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = env;
  return { ...(username && { username }), ...(password && { password }) };
}

function tls(env: Environment): RedisOptions {
  const files = { ca: env["REDIS_TLS_CA"], cert: env["REDIS_TLS_CERT"], key: env["REDIS_TLS_KEY"] };
  const read = Object.entries(files).flatMap(([name, path]) => (path ? [[name, pem(name, path)] as const] : []));
  return read.length === 0 ? {} : { tls: Object.fromEntries(read) };
}

function pem(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UsageError(`REDIS_TLS_${name.toUpperCase()} must be the path of a PEM file that can be read.`);
  }
}

function addressOf(url: string): string {
  return url.replace(/^[\w+]+:\/\/(?:[^/]*@)?/, "").replace(/[?].*$/, "");
}

function reasonOf(error: Error): string {
  const { code } = error as { code?: string };
  const [first = ""] = error.message.split("\n");
  if (code === "ECONNREFUSED") {
    return "the connection was refused. Check that the server runs, and --url or REDIS_URL.";
  }
  if (first.startsWith("All sentinels are unreachable")) {
    const [, last] = / Last error: (.*?)\.?$/.exec(first) ?? [];
    return `no Sentinel names its master${last ? ` (${last})` : ""}. Check that they run, and --url or REDIS_URL.`;
  }
  if (first.startsWith("NOPERM")) {
    return "this user may not run TIME, which every write needs. Run it as another user, or add it to the ACL.";
  }
  if (/^(WRONGPASS|NOAUTH)/.test(first)) {
    return "it refused the user or the password. Check REDIS_USERNAME and REDIS_PASSWORD.";
  }
  return `${code ?? first.replace(/^[A-Z]+ |\.$/g, "")}. Check --url or REDIS_URL.`;
}
