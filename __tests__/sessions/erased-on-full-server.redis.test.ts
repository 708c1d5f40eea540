import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "langchain-redis-memory";
import { ownServer } from "../support/own-server.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";

describe("a server at its maxmemory", () => {
  const own = ownServer(startRedis);

  it("lets an owner be erased", async () => {
    const memory = new RedisChatMemory({ client: own.client });
    for (const id of ["a", "b"]) {
      await memory.history(id, { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    }
    await memory.drain();
    await own.client.config("SET", "maxmemory", "1");
    const write = memory.history("c", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    await expect(write).rejects.toMatchObject({ code: "out_of_memory" });
    expect(await memory.sessions.deleteOwner("ann")).toMatchObject({ sessions: 2 });
    await memory.close();
  });
});
