import { readFileSync } from "node:fs";
import { request, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import { RedisChatMemory, type MemorySettings } from "langchain-redis-memory";
import { Redis } from "ioredis";
import { startInspector, type Inspector, type InspectorOptions } from "../../cli/inspector/server/server.js";
import { openServer } from "../../cli/server.js";
import { closedAfterEach } from "./closed-after-each.js";
import { sharedRedisUrl, uniquePrefix } from "./shared-redis.js";

/** The page as it was built for the tests. */
export const pageFolder = join(__dirname, "../../dist/cli/inspector");

/** An inspector, and the memory of an application whose sessions it shows. */
export interface InspectedPlace {
  readonly inspector: Inspector;
  readonly keyPrefix: string;
  readonly client: Redis;
  memory(options?: MemorySettings): RedisChatMemory;
  /** Stores messages in a session, by a memory without options. */
  add(sessionId: string, messages: readonly BaseMessage[]): Promise<void>;
  /** What the inspector answers to the page. */
  ask<T>(path: string, query?: Readonly<Record<string, string | number>>): Promise<T>;
}

/** What is said to the inspector of models. */
type Shown = Pick<InspectorOptions, "models">;

/** Starts inspectors, each on keys of its own; they end after the test. */
export function inspectedPlaces(): (env?: Readonly<Record<string, string>>, how?: Shown) => Promise<InspectedPlace> {
  const closed = closedAfterEach();
  return async (env = {}, how = {}) => {
    const keyPrefix = uniquePrefix();
    const client = closed(new Redis(sharedRedisUrl()));
    const server = closed(await openServer({ url: sharedRedisUrl(), prefix: keyPrefix }, env));
    const inspector = closed(await startInspector({ server, pageFolder, ...how }));
    const memory = ({ redis, ...options }: MemorySettings = {}) =>
      new RedisChatMemory({ client, redis: { keyPrefix, ...redis }, ...options });
    return {
      inspector,
      keyPrefix,
      client,
      memory,
      add: (sessionId, messages) =>
        memory()
          .history(sessionId)
          .addMessages([...messages]),
      ask: async <T>(path: string, query: Readonly<Record<string, string | number>> = {}) => {
        const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
        const { body } = await get(`${inspector.url}api/${path}?${new URLSearchParams(pairs).toString()}`);
        return JSON.parse(body) as T;
      },
    };
  };
}

/** Stores messages as an application does: round by round. */
export async function addInRounds(
  memory: RedisChatMemory,
  sessionId: string,
  all: readonly BaseMessage[],
): Promise<void> {
  let round: BaseMessage[] = [];
  for (const message of all) {
    if (message.getType() === "human" && round.length > 0) {
      await memory.history(sessionId).addMessages(round);
      round = [];
    }
    round.push(message);
  }
  await memory.history(sessionId).addMessages(round);
}

/** An answer by HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Asks with headers of any kind, which `fetch` does not allow. */
export function get(
  url: string,
  { method = "GET", headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(parts).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    sent.on("error", reject).end();
  });
}

/** The built files of the page, by name. */
export function pageFiles(): Readonly<Record<string, string>> {
  const names = ["index.html", "app.js", "app.css"];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(pageFolder, name), "utf8")]));
}
