import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { testKeys } from "../support/test-keys.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("Messages of a session that was read before", () => {
  const client = sharedClient();

  const odd = JSON.parse('{"__proto__": {"polluted": true}, "list": [{"deep": [1, "two"]}]}') as Record<
    string,
    unknown
  >;
  const chat = (): BaseMessage[] => [
    new HumanMessage({ id: "q", content: [{ type: "text", text: "Look it up" }], additional_kwargs: odd }),
    new AIMessage({
      id: "c",
      content: "",
      tool_calls: [{ id: "call-1", name: "lookup", args: { at: [1, { b: 2 }] } }],
    }),
    new ToolMessage({ id: "t", content: "found", tool_call_id: "call-1", artifact: new Map([["at", new Date(5)]]) }),
    new AIMessage({ id: "a", content: "There", response_metadata: { usage: { tokens: 5 } } }),
  ];

  it.each([
    ["as they are", undefined],
    ["encrypted", testKeys("k1")],
  ])("are each caller's own, stored %s", async (_, encryption) => {
    const options = { client, redis: { keyPrefix: uniquePrefix() }, ...(encryption && { encryption }) };
    const history = new RedisChatMemory(options).history("s");
    await history.addMessages(chat());
    for (let read = 0; read < 5; read += 1) {
      const [first, second] = await Promise.all([history.getMessages(), history.getMessages()]);
      const expected = await new RedisChatMemory({ ...options, redis: { ...options.redis, viewCacheBytes: 0 } })
        .history("s")
        .getMessages();
      expect(first).toEqual(expected);
      expect(second).toEqual(expected);
      expect(Object.hasOwn(first[0]!.additional_kwargs, "__proto__")).toBe(true);
      for (const message of first) {
        message.content = "changed";
        Object.assign(message.additional_kwargs, { changed: true });
        Object.assign(message.lc_kwargs, { content: "changed" });
      }
      Object.assign((first[1] as AIMessage).tool_calls![0]!.args["at"] as object, { 1: "changed" });
      ((first[2] as ToolMessage).artifact as Map<string, unknown>).set("at", "changed");
      (first[0]!.additional_kwargs["list"] as { deep: unknown[] }[])[0]!.deep.push("changed");
      expect(second).toEqual(expected);
      await history.addMessages([new HumanMessage(`more ${read}`)]);
    }
  });

  it("are read anew where one could not be read, so that a repair by hand is seen", async () => {
    const keyPrefix = uniquePrefix();
    const [writer, history] = [0, 1].map(() => new RedisChatMemory({ client, redis: { keyPrefix } }).history("s"));
    await writer!.addMessages(chat());
    const { log } = sessionKeys(keyPrefix, "s");
    const record = (await client.lindex(log, 0))!;
    await client.lset(log, 0, "{");
    expect(await history!.getMessages()).toHaveLength(3);
    expect(await history!.getMessages()).toHaveLength(3);
    await client.lset(log, 0, record);
    expect(await history!.getMessages()).toHaveLength(4);
  });

  it("are gone where they were cleared, deleted or expired, and others are there where it began anew", async () => {
    const keyPrefix = uniquePrefix();
    const [one, other] = [0, 1].map(() => new RedisChatMemory({ client, redis: { keyPrefix } }).history("s"));
    const { log, ids, state } = sessionKeys(keyPrefix, "s");
    const ends = [
      () => other!.clear(),
      () => client.del(log, ids, state),
      async () => {
        await Promise.all([log, ids, state].map((key) => client.pexpireat(key, 1)));
      },
    ];
    for (const end of ends) {
      await one!.addMessages(chat());
      expect(await one!.getMessages()).toHaveLength(4);
      await end();
      expect(await one!.getMessages()).toEqual([]);
      await other!.addMessages([new HumanMessage("anew"), ...chat().slice(1)]);
      expect((await one!.getMessages()).map(({ text }) => text)).toEqual(["anew", "", "found", "There"]);
      await other!.clear();
    }
  });
});
