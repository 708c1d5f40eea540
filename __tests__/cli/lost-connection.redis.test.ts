import { createServer, type AddressInfo, connect } from "node:net";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { runCommand } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";
import { allSessions } from "../../cli/all-sessions.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";

const client = sharedClient();
const keyPrefix = `cli-lost-${process.pid}`;
const run = hostedCommands();
const closed: (() => Promise<unknown>)[] = [];
beforeAll(() =>
  new RedisChatMemory({ client, redis: { keyPrefix } }).history("ann").addMessages([human("Q"), ai("A")]),
);
afterEach(async () => void (await Promise.all(closed.splice(0).map((close) => close()))));

/** The shared server, which goes for good at the first command of this name. */
async function serverThatGoesAt(command: string): Promise<string> {
  const { port } = new URL(sharedRedisUrl());
  const proxy = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    const end = () => void (near.destroy(), far.destroy());
    near.on("error", end).on("close", end);
    far.on("error", end).on("data", (reply) => near.write(reply));
    near.on("data", (request) => {
      if (new RegExp(`\\$\\d+\\r\\n${command}\\r\\n`, "i").test(request.toString("latin1"))) {
        proxy.close();
        end();
      } else {
        far.write(request);
      }
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  closed.push(async () => proxy.close());
  return `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

describe("A server that goes away in the middle of", () => {
  it.each([
    [["sessions"], "scan"],
    [["check", "--all"], "llen"],
    [["check", "ann"], "llen"],
    [["rebuild", "ann", "--dry-run"], "lrange"],
    [["stats"], "memory"],
    [["migrate", "--pattern", "none*"], "scan"],
    [["doctor"], "config"],
    [["delete", "ann", "--dry-run"], "llen"],
  ])("%j ends the command with 3, and a sentence", async (args, command) => {
    const url = await serverThatGoesAt(command);
    const { exitCode, errors } = await run([...args, "--url", url, "--prefix", keyPrefix]);
    expect([exitCode, errors]).toEqual([3, expect.stringMatching(/^.* Check the server, and --url or REDIS_URL\.\n$/)]);
    expect(errors).not.toMatch(/\n +at |MaxRetries|retries/);
  });
});

it("A command whose answer can no longer come says so and ends with 3, not with Node.js's own code", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-unsettled-"));
  closed.push(async () => rmSync(folder, { recursive: true }));
  const preload = join(folder, "no-sockets.mjs");
  // Node.js does not wait for such sockets and timers.
  writeFileSync(
    preload,
    `import net from "node:net"; const { connect } = net.Socket.prototype;
     net.Socket.prototype.connect = function (...args) { return connect.apply(this, args).unref(); };
     const { setTimeout: set } = globalThis; globalThis.setTimeout = (...args) => set(...args).unref();`,
  );
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` };
  const { exitCode, output, errors } = await runCommand(["sessions", "--url", sharedRedisUrl()], { env });
  expect([exitCode, output]).toEqual([3, ""]);
  expect(errors).toBe("The command ended before its work was done: an answer never came. Run it again.\n");
});

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => process.on("unhandledRejection", note));
afterAll(() => process.off("unhandledRejection", note));

/** Ends the connection at once: what was asked is not answered any more. */
const cut = (client: Redis) => void client.stream.destroy();

const endings: [string, (client: Redis, interruption: AbortController) => Promise<void> | void][] = [
  ["is interrupted", (_, interruption) => interruption.abort()],
  ["is refused further ids", () => Promise.reject(new Error("refused"))],
  ["loses the connection", cut],
];

it.each(endings)("A look at all sessions that %s leaves no rejection that nobody awaits", async (name, end) => {
  const interruption = new AbortController();
  const client = new Redis(sharedRedisUrl(), { retryStrategy: () => null });
  const keyPrefix = `all-sessions-${process.pid}-${name.replaceAll(" ", "-")}`;
  const store = new RedisSessionStore({ client, keyPrefix });
  const memory = new RedisChatMemory({ store });
  for (const sessionId of ["ann", "bob"]) {
    await memory.history(sessionId).addMessages([human("Oslo?")]);
  }
  const scan = async function* () {
    yield "ann";
    await end(client, interruption);
    yield "bob";
  };
  const server = { store, plainLists: { ...store.lists, scan }, client, keyPrefix };
  const look = async () => {
    for await (const found of allSessions(server as never, { signal: interruption.signal })) {
      expect(found.messages).toBe(1);
    }
  };
  await look().catch(() => undefined);
  cut(client);
  await delay(50);
  expect(unhandled).toEqual([]);
});
