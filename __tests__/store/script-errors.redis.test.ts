import { openConnection } from "../../src/store/redis/connection.js";
import { script } from "../../src/store/redis/script.js";
import { ScriptRunner } from "../../src/store/redis/script-runner.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const broken = script(["local function sound()\nend", "sound()\nlocal nothing\nreturn nothing.field"]);

describe("A script that fails on a server", () => {
  const connection = openConnection("the test", { url: sharedRedisUrl() }, 60_000);
  afterAll(() => connection.close(1_000));

  it("names its line in the cause", async () => {
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
      cause: { message: expect.stringMatching(/user_script:5/) },
    });
  });
});
