import type { BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sharedRedisUrl, uniquePrefix } from "./shared-redis.js";

const open: RedisChatMemory[] = [];

/** What the memories of this test reported, but that a model or its window is not known, as of most tests' models. */
export const events: MemoryEvent[] = [];

/** The events `profile_guessed` of this test. */
export const guesses: MemoryEvent[] = [];

/**
 * A memory on a real server, with sessions of its own unless it shares a `keyPrefix`: then it is another instance.
 * It is closed behind its test.
 */
export function newMemory({ redis, ...options }: MemorySettings = {}): RedisChatMemory {
  const onEvent = (event: MemoryEvent) => {
    if (event.type !== "window_unknown" && event.type !== "context_usage") {
      (event.type === "profile_guessed" ? guesses : events).push(event);
    }
  };
  const own = { keyPrefix: uniquePrefix(), ...redis };
  const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: own, onEvent, ...options });
  open.push(memory);
  return memory;
}

afterEach(async () => {
  events.length = 0;
  guesses.length = 0;
  await Promise.all(open.splice(0).map((memory) => memory.close()));
});

/** The texts of messages. */
export const texts = (messages: readonly BaseMessage[]): string[] => messages.map(({ text }) => text);

/** The types of the events other than commands. */
export const eventTypes = (): string[] => events.map(({ type }) => type).filter((type) => type !== "command");
