import { sessionKeys } from "../../src/store/redis/keys.js";
import { writeWhile } from "./busy-writers.js";
import { compare, nothingBroken, type Comparison } from "./journal-check.js";
import { sharedClient } from "./shared-redis.js";

describe("the comparison of what writers were told with what is stored", () => {
  const client = sharedClient();

  const orphan = '{"type":"tool","data":{"id":"w0t5a","content":"w0t5a","tool_call_id":"none"},"meta":{"v":1}}';
  const planted: [keyof Comparison, (log: string, records: readonly string[]) => Promise<unknown>][] = [
    ["lost", async (log, records) => client.multi().lpop(log, 2).lpush(log, records[1]!, records[1]!).exec()],
    ["doubled", (log, records) => client.lset(log, 0, records[2]!)],
    ["torn", (log, records) => client.multi().lset(log, 1, records[2]!).lset(log, 2, records[1]!).exec()],
    ["reordered", (log, records) => swapTurns(log, records)],
    ["unknown", (log, records) => client.lset(log, 1, records[1]!.replace("w0t0a", "nobody's"))],
    ["invalidViews", (log, records) => client.lset(log, records.length - 1, orphan)],
  ];

  it.each(planted)("finds nothing at first, and then what is %s", async (name, plant) => {
    const journal = await writeWhile(
      { clients: [client], sessionCount: 1, atLeast: 6, rest: 0 },
      async () => undefined,
    );
    expect(await compare(journal, client)).toMatchObject(nothingBroken);
    const { log } = sessionKeys(journal.keyPrefix, "s0");
    await plant(log, await client.lrange(log, 0, -1));
    expect((await compare(journal, client))[name]).not.toEqual([]);
  });

  it("finds what a resend stores again", async () => {
    const journal = await writeWhile(
      { clients: [client], sessionCount: 1, atLeast: 6, rest: 0 },
      async () => undefined,
    );
    const { log, ids } = sessionKeys(journal.keyPrefix, "s0");
    // As many fields as before, so that the session is not taken for damaged.
    const fields = await client.hkeys(ids);
    await client.hdel(ids, ...fields);
    await client.hset(ids, Object.fromEntries(fields.map((_, index) => [`unknown-id-${1_000 + index}`, "xxxxxxxx0"])));
    expect((await compare(journal, client)).resent).not.toEqual([]);
    expect(await client.llen(log)).toBeGreaterThan(12);
  });

  it("names a turn that the next read of its writer does not show", async () => {
    const unseen = ["w0t0q"];
    const journal = await writeWhile({ clients: [client], sessionCount: 1, atLeast: 2 }, async () => undefined);
    expect((await compare({ ...journal, unseen }, client)).unseen).toEqual(unseen);
  });

  async function swapTurns(log: string, records: readonly string[]): Promise<void> {
    const [first, second] = [records.slice(0, 2), records.slice(2, 4)];
    for (const [index, text] of [...second, ...first].entries()) {
      await client.lset(log, index, text);
    }
  }
});
