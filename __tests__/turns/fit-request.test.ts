import type { BaseMessage } from "@langchain/core/messages";
import {
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  type ContextWindowOptions,
  type MemoryEvent,
} from "../../src/entries/index.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { fitRefused, fitRequest } from "../../src/memory/turns/fit-request.js";
import { Turn } from "../../src/memory/turns/turn.js";
import { ai, human } from "../support/messages.js";

/** Commits late, and not at all where that is to fail. */
class LateStore extends InMemorySessionStore {
  commits = 0;
  failing: Error | undefined;

  override async commitReduction(...given: Parameters<InMemorySessionStore["commitReduction"]>) {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failing !== undefined) {
      throw this.failing;
    }
    const outcome = await super.commitReduction(...given);
    this.commits += 1;
    return outcome;
  }
}

async function sceneOf(count: number, options: ContextWindowOptions = {}, reduceWhen?: "background") {
  const events: MemoryEvent[] = [];
  const store = new LateStore();
  const memory = new RedisChatMemory({
    store,
    reducer: contextWindow({ maxInputTokens: 600, reserveForAnswer: 0, safetyMargin: 0, ...options }),
    onEvent: (event) => void events.push(event),
    ...(reduceWhen && { reduceWhen }),
  });
  const history = memory.history("s");
  // This memory's own writes would be reduced.
  const filling = new RedisChatMemory({ store }).history("s");
  for (let at = 0; at < count; at += 1) {
    await filling.append([human("why? ".repeat(20), `q${at}`), ai("so. ".repeat(20), { id: `a${at}` })]);
  }
  const session = sessionOf("test", history);
  const source = session.context.window!;
  const window = await source.load();
  const reductions = jest.spyOn(window, "reduceWithOutcome");
  const open = (id: string, turnId?: string) =>
    Turn.open(
      { history, session, turnId, policy: { persist: "turn", onAbort: "keep" } },
      { messages: [human("now?", id)] },
    );
  const fit = (messages: readonly BaseMessage[]) =>
    fitRequest(session, source, { messages, isOfTurn: () => false, request: {}, config: {} });
  return { events, store, memory, history, session, source, window, reductions, open, fit };
}

const call = { model: undefined, config: {} };

const view = async ({ store }: { readonly store: LateStore }) => {
  const { start, head } = await store.readView({ id: "s" });
  return { start, head };
};

describe("the request of a turn", () => {
  it("that is refused for good leaves the view as it was", async () => {
    const scene = await sceneOf(30);
    const before = await view(scene);
    const turn = await scene.open("new");
    await turn.requests.make(call);
    await turn.fail(Object.assign(new Error("no"), { status: 400 }));
    expect([await view(scene), scene.store.commits]).toEqual([before, 0]);
  });

  it("keeps its question also with a foreign reducer that would drop it", async () => {
    const store = new InMemorySessionStore();
    const memory = new RedisChatMemory({ store, reducer: (messages: BaseMessage[]) => messages.slice(0, 1) });
    const session = sessionOf("test", memory.history("s"));
    const own: BaseMessage[] = [human("now?")];
    const messages: BaseMessage[] = [human("why?"), ai("so."), ...own];
    const isOfTurn = (message: BaseMessage) => own.includes(message);
    const fitted = await fitRequest(session, undefined, { messages, isOfTurn, request: {}, config: {} });
    expect(fitted.messages).toEqual([messages[0], ...own]);
  });

  it("is sent as it is where a reducer fails, which is said", async () => {
    const { fit, reductions, events } = await sceneOf(0, { trigger: { messages: 1 } });
    const messages = [human("q"), ai("a")];
    const error = new Error("broken");
    reductions.mockRejectedValueOnce(error);
    expect(await fit(messages)).toMatchObject({ messages, before: undefined });
    expect(events[0]).toMatchObject({ type: "reduction_failed", sessionId: "s", error });
  });

  it("has its reduction stored later with reduceWhen: background", async () => {
    const scene = await sceneOf(30, {}, "background");
    const turn = await scene.open("new");
    await turn.requests.make(call);
    await turn.finish([...turn.unstored, ai("so.")]);
    expect(scene.store.commits).toBe(0);
    await scene.memory.drain();
    expect(scene.store.commits).toBe(1);
  });
});

it("a request that was refused as too long is not tried again where nothing can leave", async () => {
  const { session, events } = await sceneOf(0);
  const toFit = { messages: [human("q")], isOfTurn: () => true, request: {}, config: {}, wasTooLong: false };
  const error = new Error("prompt is too long: 700 tokens > 600 maximum");
  expect(await fitRefused(session, toFit, error)).toBeUndefined();
  expect(events.filter((event) => event.type === "context_overflow" && event.retried)).toEqual([]);
});

describe("the reduced list of a turn", () => {
  it("does not become the view where the turn left the view before", async () => {
    const scene = await sceneOf(4);
    const { history, store } = scene;
    const writing = new RedisChatMemory({ store }).history("s");
    await writeTurn(writing, [human("now?", "q")], { turnId: "other", turn: { done: false } });
    const early = await scene.open("q", "other");
    await early.requests.make(call);
    for (let at = 0; at < 30; at += 1) {
      await writing.append([human("and? ".repeat(10)), ai("so.")]);
    }
    const between = await scene.open("x");
    await between.requests.make(call);
    await between.finish([...between.unstored, ai("so.")]);
    const before = await view(scene);
    expect(before.start).toBeGreaterThan(9);
    await early.finish([...early.unstored, ai("late")]);
    expect((await view(scene)).start).toBeGreaterThanOrEqual(before.start);
    expect((await history.getTranscript()).map(({ text }) => text)).toContain("late");
  });

  it("is reported where the store fails, and the answer is stored", async () => {
    const scene = await sceneOf(30);
    const turn = await scene.open("x");
    await turn.requests.make(call);
    scene.store.failing = new Error("gone");
    await turn.finish([...turn.unstored, ai("so.", { id: "answer" })]);
    expect(scene.events.at(-1)).toMatchObject({ type: "reduction_failed", sessionId: "s", error: scene.store.failing });
    expect((await scene.history.getTranscript()).at(-1)!.id).toBe("answer");
  });
});
