import { ConfigurationError } from "../../base/errors.js";
import { withoutUndefined } from "../../base/options.js";
import { urlOptions } from "./connection-url.js";

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
