import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { withoutUndefined, anyFunction, lazy, nonNegativeInteger, positiveInteger } from "../../base/options.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { type SizeLimits, sizeLimits } from "../contract/append-decision.js";
import { defaultKeyPrefix, keyPrefixIssue } from "./keys.js";
import type { RedisClient } from "./connection.js";

/** Options in the form of ioredis, with the URL if one was given. */
export interface ConnectionOptions {
  readonly url: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

type Fields = Readonly<Record<string, unknown>>;

const notTranslated =
  "has no exact counterpart in ioredis, which this package uses; " +
  "leave it out, or pass ioredis options or your own ioredis client";

/** Options that only node-redis has; one of them marks a config as one of node-redis. */
const nodeRedisOnly = [
  "socket",
  "url",
  "database",
  "name",
  "pingInterval",
  "commandsQueueMaxLength",
  "disableOfflineQueue",
  "legacyMode",
  "isolationPoolOptions",
  "modules",
  "functions",
  "credentialsProvider",
  "RESP",
];

/** Maps options of node-redis to the options of ioredis with the same meaning. */
const sameMeaning: Readonly<Record<string, string>> = {
  username: "username",
  password: "password",
  database: "db",
  name: "connectionName",
};

/** Maps the options inside `socket`. */
const sameSocketMeaning: Readonly<Record<string, string>> = {
  host: "host",
  port: "port",
  path: "path",
  family: "family",
  connectTimeout: "connectTimeout",
  noDelay: "noDelay",
};

/** The options inside `socket` that belong to TLS; both clients use the names of node:tls. */
const tlsOptions = [
  "ca",
  "cert",
  "key",
  "passphrase",
  "rejectUnauthorized",
  "servername",
  "checkServerIdentity",
  "minVersion",
  "maxVersion",
  "ciphers",
];

/**
 * Returns options for ioredis: those of ioredis unchanged, those of node-redis translated.
 *
 * @throws ConfigurationError that names the first option of node-redis without an exact counterpart, or that cannot be
 *   used.
 */
export function connectionOptions(owner: string, config: Fields): ConnectionOptions {
  const fields = withoutUndefined(config);
  if ("sentinels" in fields) {
    // `name` is an option of both clients; beside Sentinels it is the one of ioredis.
    checkSentinels(fields);
    return { url: undefined, options: fields };
  }
  if (!nodeRedisOnly.some((name) => name in fields)) {
    return { url: undefined, options: fields };
  }
  const { url, socket, disableOfflineQueue, ...rest } = fields;
  const parsed = url === undefined ? undefined : urlOptions({ url, option: "config.url", owner });
  const options = {
    ...translated(rest, { names: sameMeaning, path: "config" }),
    ...(disableOfflineQueue !== undefined && { enableOfflineQueue: disableOfflineQueue !== true }),
    ...(socket !== undefined && socketOptions(socket)),
  };
  return { url: parsed?.url, options: { ...options, ...parsed?.options } };
}

function checkSentinels({ sentinels, name }: Fields): void {
  if (!Array.isArray(sentinels) || sentinels.length === 0) {
    throw new ConfigurationError("config.sentinels", 'Option "config.sentinels" must be an array of { host, port }.');
  }
  if (typeof name !== "string" || name === "") {
    const advice = "must be the name under which the Sentinels know the master";
    throw new ConfigurationError("config.name", `Option "config.name" ${advice}.`);
  }
}

function socketOptions(socket: unknown): Fields {
  if (typeof socket !== "object" || socket === null) {
    throw new ConfigurationError("config.socket", 'Option "config.socket" must be an object.');
  }
  const { tls, keepAlive, ...rest } = withoutUndefined(socket as Fields);
  const secured = tls === true;
  const tlsPart = Object.fromEntries(Object.entries(rest).filter(([name]) => secured && tlsOptions.includes(name)));
  const plain = Object.fromEntries(Object.entries(rest).filter(([name]) => !(name in tlsPart)));
  if (tls !== undefined && typeof tls !== "boolean") {
    refuse("config.socket.tls");
  }
  if (keepAlive !== undefined && typeof keepAlive !== "number") {
    refuse("config.socket.keepAlive");
  }
  return {
    ...translated(plain, { names: sameSocketMeaning, path: "config.socket" }),
    ...(keepAlive !== undefined && { keepAlive }),
    ...(secured && { tls: tlsPart }),
  };
}

function translated(
  fields: Fields,
  { names, path }: { readonly names: Readonly<Record<string, string>>; readonly path: string },
): Fields {
  const pairs = Object.entries(fields).map(([name, value]) => {
    const counterpart = Object.hasOwn(names, name) ? names[name]! : refuse(`${path}.${name}`);
    return [counterpart, value] as const;
  });
  return Object.fromEntries(pairs);
}

function refuse(option: string): never {
  throw new ConfigurationError(option, `Option "${option}" of node-redis ${notTranslated}.`);
}

const schemes = "redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://";

/** `redis+sentinel://user:password@host:port,host:port/name/db?db=number`, split at its first separators. */
const sentinelUrl = /^(rediss?)\+sentinel:\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d+))?\/?(?:\?([^#]*))?$/;

/** The parts of a URL that an error may name. The URL itself is never shown, because it may hold a password. */
interface NamedUrl {
  readonly url: unknown;
  /** Path of the option with the URL, such as `url` or `config.url`. */
  readonly option: string;
  /** Begins the error messages. */
  readonly owner: string;
}

/**
 * Returns options for ioredis from a URL of one server or of Sentinels.
 *
 * @throws ConfigurationError for a URL that ioredis would misread; the message does not contain the URL.
 */
export function urlOptions(named: NamedUrl): ConnectionOptions {
  const { url } = named;
  if (typeof url !== "string" || !/^(rediss?|unix|rediss?\+sentinel):\/\/./.test(url)) {
    throw refused(named, `must be a URL that begins with ${schemes}`);
  }
  if (url.includes("#")) {
    throw refused(named, 'must not contain "#"; in a user name or password write %23');
  }
  if (/^rediss?\+sentinel:/.test(url)) {
    return { url: undefined, options: sentinelOptions(named, url) };
  }
  if (!URL.canParse(url)) {
    throw refused(
      named,
      'must be a valid URL such as redis://host:6379/0; in a password write "/" as %2F and "@" as %40',
    );
  }
  const { username, password, pathname, protocol } = new URL(url);
  decoded(named, username);
  decoded(named, password);
  if (protocol !== "unix:" && !/^\/?\d*$/.test(pathname)) {
    throw refused(named, 'must end with the number of a database, or with nothing; in a password write "/" as %2F');
  }
  return { url, options: {} };
}

function sentinelOptions(named: NamedUrl, url: string): Readonly<Record<string, unknown>> {
  const parts = sentinelUrl.exec(url);
  if (parts === null) {
    throw refused(named, "must have the form redis+sentinel://host:port,host:port/name-of-the-master");
  }
  const [, scheme, login = "", hosts = "", name = "", path, query = ""] = parts;
  const [username = "", password] = login.split(/:(.*)/s).map((part) => decoded(named, part));
  const db = database(named, path, query);
  return {
    sentinels: hosts.split(",").map((host) => sentinelAddress(named, host)),
    name: decoded(named, name),
    ...(username !== "" && { username }),
    ...(password !== undefined && password !== "" && { password }),
    ...(db !== undefined && { db }),
    ...(scheme === "rediss" && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  };
}

function sentinelAddress(named: NamedUrl, text: string): { readonly host: string; readonly port: number } {
  const url = `redis://${text}`;
  if (text === "" || !URL.canParse(url)) {
    throw refused(named, "must list the Sentinels as host:port, separated by commas");
  }
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 26_379 : Number(port) };
}

function database(named: NamedUrl, path: string | undefined, query: string): number | undefined {
  const { db = path, ...others } = Object.fromEntries(new URLSearchParams(query));
  if (Object.keys(others).length > 0) {
    throw refused(named, 'of Sentinels takes no parameter but "db"; pass other options as "config"');
  }
  if (db !== undefined && !/^\d+$/.test(db)) {
    throw refused(named, 'must have a number as "db"');
  }
  return db === undefined ? undefined : Number(db);
}

function decoded(named: NamedUrl, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Without a cause, which might show a part of the password.
    throw refused(named, 'contains a "%" that does not begin an escape; in a user name or password write %25');
  }
}

function refused({ option, owner }: NamedUrl, sentence: string): ConfigurationError {
  return new ConfigurationError(option, `${owner}: option "${option}" ${sentence}.`);
}

/** Connection to Redis. */
export interface ConnectionSource {
  /** Your own ioredis `Redis` or `Cluster` (5 or 6); it is never closed and gets no new methods. */
  readonly client?: RedisClient;
  /**
   * URL of a server (`redis://`, `rediss://`, `unix://`) or of Sentinels (`redis+sentinel://host:port,host:port/name`,
   * `rediss+sentinel://`); one connection is opened at the first call and closed by `close()`.
   */
  readonly url?: string;
  /** The same by options: those of ioredis, or those of node-redis as far as they can be translated exactly. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** One of the fields of `T`, and none of the others. */
export type ExactlyOne<T> = {
  [K in keyof T]-?: Required<Pick<T, K>> & { readonly [Other in Exclude<keyof T, K>]?: undefined };
}[keyof T];

/** Settings of a store in Redis: of `RedisSessionStore`, and `redis` of a memory. */
export interface RedisStoreSettings {
  /** Prefix of all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /** Milliseconds after which a call fails, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /**
   * Number of replicas that must acknowledge each write, at least 1; with fewer the write fails with a StoreError
   * `unavailable`.
   * @default none
   */
  readonly waitReplicas?: number;
  /**
   * Bytes of memory for recently read views, so that reads fetch only new records; 0 caches none. A record counts as
   * 400 bytes and 4 per character, about twice the memory of English text. @default 33_554_432
   */
  readonly viewCacheBytes?: number;
  /** Maximum size of a record and of an append, in bytes of UTF-8. @default 1,000,000 and 10,000,000 */
  readonly limits?: Partial<SizeLimits>;
}

/** Options of `RedisSessionStore`: exactly one of `client`, `url` and `config`, and settings. */
export type RedisSessionStoreOptions = RedisStoreSettings &
  ExactlyOne<ConnectionSource> & {
    /** Receives a `command` event for every round trip. */
    readonly onEvent?: MemoryEventHandler;
  };

/** The connection as fields of a schema; `openConnection` checks the values. */
export const connectionFields = lazy(() => ({
  client: z.optional(z.unknown()),
  url: z.optional(z.unknown()),
  config: z.optional(z.unknown()),
}));

/** The settings as fields of a schema. */
export const redisStoreFields = lazy(() => ({
  keyPrefix: z._default(
    z.string("must be a string").check(
      z.superRefine((value, context) => {
        const message = keyPrefixIssue(value);
        if (message !== undefined) {
          context.addIssue({ code: "custom", message });
        }
      }),
    ),
    defaultKeyPrefix,
  ),
  commandTimeout: z._default(positiveInteger().check(z.maximum(2_147_483_647, "must be at most 2147483647")), 5_000),
  waitReplicas: z.optional(positiveInteger()),
  viewCacheBytes: z._default(nonNegativeInteger(), 2 ** 25),
  limits: sizeLimits(),
}));

/** The options of a store by itself. */
export const redisStoreSchema = lazy(() =>
  z.strictObject({
    ...connectionFields(),
    ...redisStoreFields(),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);
