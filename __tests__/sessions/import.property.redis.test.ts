import fc from "fast-check";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { encodeMessage, turnNameOf } from "../../src/store/codec/encode-message.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { newMemory } from "../support/memories.js";
import { anyMessage, anyText } from "../support/message-arbitraries.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

/** More with IMPORT_RUNS=2000. */
const runs = Number(process.env["IMPORT_RUNS"] ?? 32);

type Open = (settings?: MemorySettings) => RedisChatMemory;

/** Where sessions lie: each opens a memory on a place of its own. */
const places: Readonly<Record<string, Open>> = {
  Redis: (settings = {}) => newMemory(settings),
  "encrypted Redis": (settings = {}) =>
    new RedisChatMemory({
      ...settings,
      url: sharedRedisUrl(),
      redis: { keyPrefix: uniquePrefix() },
      encryption: testKeys("k1"),
    }),
  memory: (settings = {}) => new RedisChatMemory({ ...settings, store: new InMemorySessionStore() }),
};

/** Something that happens to the session `s`. */
type Happening = (memory: RedisChatMemory) => Promise<unknown>;

const history = (memory: RedisChatMemory) => memory.history("s", { owner: "ann" });
const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const turn = fc.constantFrom("t1", "t2", "t3");

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc
    .tuple(fc.array(anyMessage(), { minLength: 1, maxLength: 4 }), fc.option(turn, { nil: undefined }), fc.boolean())
    .map(
      ([messages, turnId, done]): Happening =>
        (memory) =>
          turnId === undefined
            ? history(memory).append(messages)
            : writeTurn(history(memory), messages, { turnId, turn: { done } }),
    ),
  fc.constant<Happening>((memory) =>
    history(memory).append([new AIMessage({ content: "a", usage_metadata: usage, response_metadata: { model: "m" } })]),
  ),
  fc.tuple(anyText(), anyText()).map(
    ([name, value]): Happening =>
      (memory) =>
        history(memory).append([], { side: { set: { [name.toWellFormed()]: value.toWellFormed() } } }),
  ),
  fc.constant<Happening>(async (memory) => {
    const last = (await history(memory).getTranscript()).at(-3);
    await (last?.id === undefined ? undefined : history(memory).rewind(last.id));
  }),
  fc.constant<Happening>((memory) => history(memory).reduceView()),
  fc.tuple(anyText(), fc.jsonValue()).map(
    ([title, value]): Happening =>
      (memory) =>
        memory.sessions.update("s", { title: title.toWellFormed(), metadata: { value } }),
  ),
);

async function linesOf(memory: RedisChatMemory): Promise<string[]> {
  return all(memory.sessions.export("s"));
}

/** Redis says how long a session lives, not until when: two looks at it may differ by a millisecond. */
const withoutPlace = (lines: readonly string[]) => lines.map((line) => line.replace(/"expiresAt":\d+,/, ""));

async function seen(memory: RedisChatMemory): Promise<unknown> {
  const session = history(memory);
  // As records: LangChain's own toDict loses a key named __proto__.
  const plain = (messages: BaseMessage[]) =>
    messages.map((message) => encodeMessage(message, { id: message.id! }).record);
  return {
    view: plain(await session.getMessages()),
    transcript: plain(await session.getTranscript()),
    stats: { ...(await session.stats()), expiresAt: 0 },
    reductions: await session.getReductions(),
    listed: { ...(await memory.sessions.get("s")), expiresAt: 0 },
    page: (await session.getPage({ limit: 50 })).items.map(({ position, at }) => [position, at]),
  };
}

describe("an export of a session", () => {
  it.each([
    ["Redis", "Redis"],
    ["Redis", "memory"],
    ["memory", "encrypted Redis"],
    ["encrypted Redis", "Redis"],
  ])("from %s is the same session after its import into %s", async (from, to) => {
    const settings = fc.record({
      retention: fc.constantFrom("keep" as const, "discard" as const),
      sessionTTL: fc.constantFrom(undefined, 600),
    });
    await fc.assert(
      fc.asyncProperty(settings, fc.array(happening, { maxLength: 14 }), async ({ retention, sessionTTL }, steps) => {
        const reducer = new ChatHistoryTruncationReducer({ targetCount: 3, thresholdCount: 2 });
        const counted = { reducer, tokenCounter: approximateCounter(), trackUsage: true } as const;
        const options = { ...counted, retention, ...(sessionTTL && { sessionTTL }) };
        const source = places[from]!(options);
        for (const step of steps) {
          await step(source).catch((error: { code?: string }) => {
            // Two messages of one id, a rewind to a message that is gone.
            expect(["content", "unknown_message", "unsupported_message", "invalid_option"]).toContain(error.code);
          });
        }
        const lines = await linesOf(source);
        const target = places[to]!(options);
        const existed = lines.length > 0 ? 1 : 0;
        expect(await target.sessions.import(lines)).toMatchObject({ sessions: existed, failed: 0 });
        expect(withoutPlace(await linesOf(target))).toEqual(withoutPlace(lines));
        expect(await seen(target)).toEqual(await seen(source));
        const [was, is] = await Promise.all(
          [source, target].map(async (memory) => (await history(memory).stats()).expiresAt),
        );
        expect(Math.abs((is ?? 0) - (was ?? 0))).toBeLessThan(60_000);
        expect(await target.sessions.import(lines)).toMatchObject({ sessions: 0, unchanged: existed });
        for (const turnId of ["t1", "t2", "t3"]) {
          const again = (memory: RedisChatMemory) => history(memory).append([new AIMessage("other")], { turnId });
          const name = turnNameOf(turnId);
          const { repeated } = await again(source);
          // A copy does not know the turns of discarded messages, not even of those whose copies the head holds.
          const isOf = (line: string) => line.startsWith('{"type":"record"') && line.includes(name);
          const isKnown = retention === "keep" || lines.some(isOf);
          expect([name, (await again(target)).repeated]).toEqual([name, repeated && isKnown]);
        }
        await Promise.all([source.close(), target.close()]);
      }),
      { numRuns: Math.ceil(runs / 4), endOnFailure: process.env["IMPORT_RUNS"] === undefined },
    );
  });
});
