import { ConfigurationError } from "../../base/errors.js";
import type { ConnectionOptions } from "./connection-options.js";

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
