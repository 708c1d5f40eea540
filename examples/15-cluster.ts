// A cluster: each session lies whole on one master, and sessions spread over all of them. REDIS_CLUSTER names a node,
// such as 127.0.0.1:7000.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Cluster } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";

const node = process.env["REDIS_CLUSTER"];
if (node === undefined) {
  console.log("Set REDIS_CLUSTER to host:port of a node of a cluster.");
} else {
  const [host, port] = node.split(":");
  const client = new Cluster([{ host: host!, port: Number(port) }], { redisOptions: { socketTimeout: 3_750 } });
  client.on("error", (error) => console.error(error.message));
  const keyPrefix = `example-${randomUUID()}`;
  const memory = new RedisChatMemory({ client, redis: { keyPrefix } });

  const sessions = Array.from({ length: 30 }, (_, index) => `user-${index}`);
  await Promise.all(
    sessions.map((id) => memory.history(id).addMessages([new HumanMessage("Hi"), new AIMessage(`Hello ${id}!`)])),
  );
  const counts = await Promise.all(
    client.nodes("master").map(async (master) => (await master.keys(`${keyPrefix}:*:log`)).length),
  );
  console.log(`masters with sessions: ${counts.filter((count) => count > 0).length} of ${counts.length}`);
  console.log(`sessions on all of them: ${counts.reduce((a, b) => a + b)}`);
  console.log((await memory.history("user-7").getMessages()).map(({ text }) => text).join(" "));

  await Promise.all(sessions.map((id) => memory.history(id).clear()));
  await memory.close();
  await client.quit(); // a client that was passed in stays yours
}
