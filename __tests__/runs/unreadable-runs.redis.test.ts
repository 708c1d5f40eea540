import { runKeys } from "../../src/store/redis/keys.js";
import { ChunkReader } from "../../src/runs/chunk-text.js";
import { closeMemories } from "../support/memories.js";
import { sharedClient } from "../support/shared-redis.js";
import { all, spoken, twoInstances } from "./spoken-source.js";

const client = sharedClient();
afterEach(closeMemories);

const corrupt = { name: "RecordError", code: "corrupt" };

describe("What cannot be read of runs in Redis", () => {
  it.each(["[", "null", '["x",null,{"kind":"stop"}]', '{"kind":"stop"}'])(
    "does not end the mail of a process: %s",
    async (notice) => {
      const { runs, keyPrefix } = twoInstances();
      const { work, say } = spoken();
      const run = await runs[0].start("s", { turnId: "t" }, work);
      const own = all(run);
      const [mail] = await client.keys(`${keyPrefix}:{process:*}:mail`);
      await client.xadd(mail!, "*", "m", notice);
      say("a");
      const reader = all(runs[1].join("s"));
      // The stop is a notice behind the one that cannot be read.
      await runs[1].stop("s");
      expect((await own).at(-1)).toEqual({ state: "stopped" });
      expect((await reader).at(-1)).toEqual({ state: "stopped" });
    },
  );

  it.each(["{", "null", '{"turnId":1}'])("is refused by a typed error: facts %s", async (facts) => {
    const { runs, keyPrefix } = twoInstances();
    await client.xadd(runKeys(keyPrefix, "s").run, "1700000000000-0", "m", facts);
    await expect(runs[0].active("s")).rejects.toMatchObject(corrupt);
    await expect(runs[0].stop("s")).rejects.toMatchObject(corrupt);
    await expect(runs[0].start("s", { turnId: "t" }, spoken().work)).rejects.toMatchObject(corrupt);
  });

  it("is refused by a typed error, which quotes nothing: chunks", () => {
    for (const text of ["secret", "{}", '[{"$lcmem":["=",7]}]', '[{"$lcmem":null}]', '[{"$lcmem":["Date"]}]']) {
      expect(() => new ChunkReader().chunks(text)).toThrow(expect.objectContaining(corrupt));
    }
    expect(() => new ChunkReader().chunks("secret")).not.toThrow(/secret/);
  });
});
