import { HumanMessage } from "@langchain/core/messages";
import { newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const redis = sharedClient();

/** A memory with sessions of an owner, one of which holds a record that is nested too deeply for JSON. */
async function withDeepRecord() {
  const keyPrefix = uniquePrefix();
  const memory = newMemory({ redis: { keyPrefix } });
  for (const id of ["a", "b", "c"]) {
    await memory.history(id, { owner: "ann" }).addMessages([new HumanMessage(`hi ${id}`)]);
  }
  const depth = 20_000;
  const deep = `${"[".repeat(depth)}1${"]".repeat(depth)}`;
  const record = `{"type":"human","data":{"content":"deep","additional_kwargs":{"x":${deep}},"id":"d"},"meta":{"v":1}}`;
  await redis.lset(`${keyPrefix}:{b}:log`, 0, record);
  return { memory, record };
}

test("a record of any depth is exported as text, and with it all sessions of its owner", async () => {
  const { memory, record } = await withDeepRecord();
  const lines = (await all(memory.sessions.exportOwner("ann"))).map((line) => JSON.parse(line) as object);
  expect(lines.filter((line) => "type" in line && line.type === "end")).toHaveLength(3);
  expect(lines).toContainEqual(expect.objectContaining({ type: "record", sessionId: "b", record }));
  expect(await all(memory.sessions.export("b"))).toHaveLength(3);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("The log is down.");
    },
  ],
  ["rejects", () => Promise.reject(new Error("The log is down.")) as unknown as void],
])("a listener that %s ends the operation and never the process", async (_, onProgress) => {
  const { memory } = await withDeepRecord();
  const rejected = jest.fn();
  process.on("unhandledRejection", rejected);
  const lines = await all(memory.sessions.export("a"));
  const more = [...lines, ...(await all(memory.sessions.export("c")))].map((line) => line.replaceAll('"a"', '"x"'));
  await expect(newMemory().sessions.import(more, { onProgress })).rejects.toThrow("The log is down.");
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", rejected);
  expect(rejected).not.toHaveBeenCalled();
});
