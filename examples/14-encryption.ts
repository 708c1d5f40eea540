// Messages that are encrypted before they leave the process: what a process without the option or the key gets, and a
// rotation of keys.
import { randomBytes, randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { EncryptionError, InMemorySessionStore, RedisChatMemory, RedisSessionStore } from "langchain-redis-memory";
import { connection } from "./support/setting.js";

const server = connection();
const keyPrefix = `example-${randomUUID()}`;
const store = "url" in server ? new RedisSessionStore({ ...server, keyPrefix }) : new InMemorySessionStore();
const spring = { id: "2026-05", key: randomBytes(32) };
const autumn = { id: "2026-11", key: randomBytes(32) };
const sessionId = `patient-${randomUUID()}`;

const memory = new RedisChatMemory({ store, encryption: { current: spring } });
await memory.history(sessionId).addMessages([new HumanMessage("My knee hurts."), new AIMessage("Since when?")]);

const unaware = new RedisChatMemory({ store });
const stranger = new RedisChatMemory({ store, encryption: { current: autumn } });
for (const [process, reader] of Object.entries({ "without encryption": unaware, "without the key": stranger })) {
  await reader
    .history(sessionId)
    .getMessages()
    .catch((error: unknown) => {
      console.log(`${process}: ${EncryptionError.isInstance(error) ? `${error.code} ${error.keyId}` : "?"}`);
    });
}

const rotated = new RedisChatMemory({ store, encryption: { current: autumn, previous: [spring] } });
const { incomplete } = await rotated.sessions.reencrypt();
console.log(`left to encrypt again: ${incomplete}`);
console.log(`with the new key alone: ${(await stranger.history(sessionId).getMessages()).map(({ text }) => text)}`);
await rotated.history(sessionId).clear();
await store.close();
