import type { Socket } from "node:net";
import type { Redis } from "ioredis";

/** Facts that a server reports; undefined where this user may not ask. */
export interface ServerFacts {
  /** Fields of INFO. */
  readonly info: Readonly<Record<string, string>> | undefined;
  /** Settings by name. */
  readonly config: Readonly<Record<string, string>> | undefined;
  /** Fields of CLUSTER INFO; undefined where the server is not a part of a cluster. */
  readonly cluster: Readonly<Record<string, string>> | undefined;
  /** Milliseconds of a round trip, the median of several. */
  readonly roundTripMs: number;
  readonly slowScripts: readonly SlowScript[] | undefined;
}

/** An entry of the slow log that is a script on keys of this package. */
export interface SlowScript {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly milliseconds: number;
  readonly key: string;
}

const settings = ["maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"];
const roundTrips = 11;

/** Asks one server. Nothing is written, and a refused question is an undefined answer. */
export async function factsOf(node: Redis, { keyPrefix }: { readonly keyPrefix: string }): Promise<ServerFacts> {
  const info = await allowed(node.info().then(fieldsOf));
  return {
    info,
    config: await allowed(node.config("GET", ...(settings as [string])).then((reply) => pairs(reply as string[]))),
    cluster: info?.["cluster_enabled"] === "1" ? await allowed(node.cluster("INFO").then(fieldsOf)) : undefined,
    roundTripMs: await medianRoundTrip(node),
    slowScripts: await allowed(node.slowlog("GET", 128).then((entries) => slowScriptsIn(entries, keyPrefix))),
  };
}

/** The address of a server. Where Sentinels named it, only the socket knows it. */
export function addressOf({ options, stream }: Redis): string {
  const { host, port, path, sentinels } = options;
  const { remoteAddress, remotePort } = stream as Partial<Socket>;
  const isNamed = Boolean(sentinels) && remoteAddress !== undefined;
  return isNamed ? `${remoteAddress}:${remotePort}` : (path ?? `${host}:${port}`);
}

async function allowed<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (/^(NOPERM|ERR unknown (sub)?command)/.test((error as Error).message)) {
      return undefined;
    }
    throw error;
  }
}

function fieldsOf(reply: unknown): Record<string, string> {
  const lines = String(reply).split("\r\n");
  const fields = lines.map((line) => /^([\w-]+):(.*)$/.exec(line)).filter((match) => match !== null);
  return Object.fromEntries(fields.map(([, name, value]) => [name!, value!]));
}

/** CONFIG GET answers with a list, or with an object where the client speaks RESP3. */
function pairs(reply: readonly string[] | Readonly<Record<string, string>>): Record<string, string> {
  if (!Array.isArray(reply)) {
    return { ...(reply as Readonly<Record<string, string>>) };
  }
  const list = reply as readonly string[];
  return Object.fromEntries(list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""]] : [])));
}

async function medianRoundTrip(node: Redis): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < roundTrips; index += 1) {
    const began = performance.now();
    await node.time();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(roundTrips / 2)]!;
}

type SlowEntry = readonly [id: number, seconds: number, microseconds: number, command: readonly string[]];

function slowScriptsIn(reply: unknown, keyPrefix: string): SlowScript[] {
  const scripts = (reply as readonly SlowEntry[]).filter(([, , , [verb = ""]]) => /^(eval|evalsha)$/i.test(verb));
  return scripts.flatMap(([, seconds, microseconds, command]) => {
    const key = command.slice(3).find((argument) => argument.startsWith(`${keyPrefix}:{`));
    return key === undefined ? [] : [{ at: seconds * 1_000, milliseconds: microseconds / 1_000, key }];
  });
}
