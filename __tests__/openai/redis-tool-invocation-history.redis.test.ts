import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type BeforeStore, RedisChatMemory, RedisChatMessageHistory } from "../../src/entries/index.js";
import { RedisToolInvocationHistory } from "../../src/entries/openai.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { tool } from "@langchain/core/tools";
import fc from "fast-check";
import { z } from "zod";
import { redact } from "../../src/entries/structure.js";
import { newMemory } from "../support/memories.js";
import { forAllAsync } from "../support/property-runs.js";
import { storedBytes } from "../support/stored-bytes.js";

const run = { name: "search", inputs: { query: "Oslo" }, outputs: "4 °C", status: "success" };

describe("RedisToolInvocationHistory on Redis", () => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();

  it("has no key of its own: records are fields of the session's state, with the same expiry", async () => {
    const history = new RedisChatMessageHistory({ sessionId: "s", client, redis: { keyPrefix }, sessionTTL: 100 });
    const memory = new RedisChatMemory({ client, redis: { keyPrefix }, sessionTTL: 200 });
    const log = new RedisToolInvocationHistory({ memory, sessionId: "s" });
    await history.addMessage(new HumanMessage("Hi"));
    const keys = (await client.keys(`${keyPrefix}:*`)).sort();
    const records = [await log.addInvocation(run), await log.addInvocation({ ...run, toolCallId: "c" })];
    expect((await client.keys(`${keyPrefix}:*`)).sort()).toEqual(keys);
    const expiries = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    expect(new Set(expiries).size).toBe(1);
    expect(expiries[0]).toBeGreaterThan(Date.now() + 150_000);
    expect(await new RedisToolInvocationHistory({ history }).toList()).toEqual(records);
    await history.clear();
    expect(await log.length).toBe(0);
  });

  it("keeps all records of concurrent writers, up to the limit", async () => {
    const logs = Array.from(
      { length: 4 },
      () =>
        new RedisToolInvocationHistory({
          memory: new RedisChatMemory({ client, redis: { keyPrefix } }),
          sessionId: "many",
          limit: 30,
        }),
    );
    const added = await Promise.all(logs.flatMap((log) => Array.from({ length: 10 }, () => log.addInvocation(run))));
    const newest = added
      .map(({ id }) => id)
      .sort()
      .slice(-30);
    expect((await logs[0]!.toList()).map(({ id }) => id)).toEqual(newest);
  });

  it("works on the connection of its memory, and ends with it", async () => {
    const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix } });
    const log = new RedisToolInvocationHistory({ memory, sessionId: "url" });
    await memory.history("url").addMessage(new HumanMessage("Hi"));
    await log.addInvocation(run);
    expect(await log.length).toBe(1);
    await memory.close();
    await expect(log.toList()).rejects.toMatchObject({ code: "closed" });
    expect(await client.ping()).toBe("PONG");
  });
});

const client = sharedClient();

const marker = "4111-2222";

/** A log of a memory that stores what this function leaves, and all bytes of it. */
function logOf(beforeStore: BeforeStore, limits: { readonly maxCharacters?: number } = {}) {
  const keyPrefix = uniquePrefix();
  const memory = newMemory({ redis: { keyPrefix }, beforeStore });
  const log = new RedisToolInvocationHistory({ memory, sessionId: "s", ...limits });
  return { log, bytes: async () => [...(await storedBytes(client, keyPrefix))].flat().join("\n") };
}

const values: readonly [string, unknown][] = [
  ["text", `Card ${marker}.`],
  ["text beside quotes and line ends", `"Card"\n${marker}`],
  ["a number of blocks", [{ type: "text", text: `Card ${marker}.` }]],
  ["fields", { name: marker, id: marker, deep: { list: [marker], data: { type: marker } }, [marker]: 1 }],
  ["a list", [marker, [marker], { card: marker }]],
  ["nothing", null],
];

describe("a tool log of a memory that redacts", () => {
  const cases = values.flatMap(([inputs, given]) =>
    values.map(([outputs, got]) => [inputs, outputs, given, got] as const),
  );

  it.each(cases)("has no match in %s as arguments and %s as result", async (_, __, inputs, outputs) => {
    const { log, bytes } = logOf(redact(marker));
    const record = await log.addInvocation({ name: "pay", inputs, outputs, status: "success", toolCallId: "c1" });
    expect(JSON.stringify(await log.toList())).toBe(JSON.stringify([record]));
    const clean = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(marker, "[redacted]")) as unknown;
    expect(record).toMatchObject({ name: "pay", toolCallId: "c1", inputs: clean(inputs), outputs: clean(outputs) });
    expect(await bytes()).not.toContain(marker);
  });

  it("leaves any JSON without a match as it is", async () => {
    const { log } = logOf(redact(/4111-\d{4}/));
    await forAllAsync(100, fc.tuple(fc.jsonValue(), fc.jsonValue()), async ([inputs, outputs]) => {
      const given = JSON.parse(JSON.stringify({ inputs, outputs })) as object;
      expect(await log.addInvocation({ inputs, outputs, status: "success" })).toMatchObject(given);
    });
  });

  it("redacts before it cuts, so that no half of a match is left", async () => {
    const { log, bytes } = logOf(redact(marker), { maxCharacters: 12 });
    await log.addInvocation({ inputs: `123456${marker}`, outputs: `123456${marker}`, status: "success" });
    expect(await bytes()).not.toContain("4111");
  });

  it("has no match in what the callback handler records of results, handled errors and thrown ones", async () => {
    const { log, bytes } = logOf(redact(marker));
    const schema = z.object({ how: z.string(), card: z.string() });
    const pay = tool(
      ({ how, card }) => {
        if (how === "throws") {
          throw new Error(`No card ${card}.`);
        }
        return how === "handled" ? new ToolMessage({ content: card, tool_call_id: "c", status: "error" }) : { card };
      },
      { name: "pay", description: "Pays.", schema },
    );
    for (const how of ["returns", "handled", "throws"]) {
      await pay.invoke({ how, card: marker }, { callbacks: [log.callbackHandler()] }).catch(() => undefined);
    }
    expect((await log.toList()).map(({ status, inputs }) => [status, inputs])).toEqual([
      ["success", { how: "returns", card: "[redacted]" }],
      ["error", { how: "handled", card: "[redacted]" }],
      ["error", { how: "throws", card: "[redacted]" }],
    ]);
    expect(await bytes()).not.toContain(marker);
  });
});

describe("a tool log of a memory with a function of its own", () => {
  const withText = (change: (text: string) => string) => (message: BaseMessage) => {
    if (typeof message.content === "string") {
      message.content = change(message.content);
    }
    return message;
  };

  it.each([
    ["a text", "card 1234", "card [card]"],
    ["data", { card: "1234" }, { card: "[card]" }],
    ["data that is no JSON afterwards", { card: 1234 }, '{"card":[card]}'],
  ])("keeps what it leaves of %s where it changes texts only", async (_, outputs, kept) => {
    const { log } = logOf(withText((text) => text.replaceAll("1234", "[card]")));
    expect(await log.addInvocation({ inputs: {}, outputs, status: "success" })).toMatchObject({ outputs: kept });
  });

  it("keeps nothing of calls that it drops, nor of artifacts", async () => {
    const { log } = logOf((message) => Object.assign(message, { tool_calls: [], artifact: undefined }));
    const record = await log.addInvocation({ inputs: { a: 1 }, outputs: { b: 2 }, status: "success" });
    expect(record).toMatchObject({ inputs: null, outputs: null });
  });

  it("refuses a run that it refuses, and stores nothing of it", async () => {
    const { log, bytes } = logOf(() => Promise.reject(new Error("no")));
    const adding = log.addInvocation({ inputs: {}, outputs: "x", status: "success" });
    await expect(adding).rejects.toMatchObject({ code: "refused" });
    expect(await bytes()).toBe("");
  });
});
