import { openConnection } from "../../src/store/redis/connection.js";
import { script } from "../../src/store/redis/script.js";
import { ScriptRunner } from "../../src/store/redis/script-runner.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const broken = script([
  { file: "includes/sound.lua", line: 4, text: "local function sound()\nend" },
  { file: "broken.lua", line: 7, text: "sound()\nlocal nothing\nreturn nothing.field" },
]);

describe("A script that fails on a server", () => {
  const connection = openConnection("the test", { url: sharedRedisUrl() }, 60_000);
  afterAll(() => connection.close(1_000));

  it("names the file and the line of the Lua sources", async () => {
    const runner = new ScriptRunner({
      connection,
      commandTimeout: 60_000,
      waitReplicas: undefined,
      onEvent: undefined,
    });
    const call = { script: broken, keys: [], args: [], writes: false };
    await expect(runner.run({ operation: "append", sessionId: "a" }, call)).rejects.toMatchObject({
      name: "StoreError",
      code: "script_failed",
      message: expect.stringContaining("(broken.lua:9)"),
      cause: { message: expect.stringMatching(/user_script:5.*\[broken\.lua:9\]$/s) },
    });
  });
});
