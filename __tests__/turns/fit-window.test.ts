import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import {
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  type ContextWindowOptions,
  type MemoryEvent,
} from "../../src/entries/index.js";
import { sessionOf } from "../../src/memory/redis-chat-message-history.js";
import { commitHistory, fitHistory, fitRefused, fitRequest } from "../../src/turns/fit-window.js";
import { openTurn } from "../../src/turns/open-turn.js";
import { countMessages } from "../../src/tokens/counted-messages.js";
import { ai, human, tool } from "../support/messages.js";

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
  const open = (id: string, turnId?: string) => openTurn({ session, turnId, input: [human("now?", id)] });
  const fit = async (id: string) =>
    fitHistory(session, { source, opened: await open(id), model: undefined, config: {} });
  const types = () => events.map(({ type }) => type);
  return { events, types, store, memory, history, session, source, window, reductions, open, fit };
}

const view = async ({ store }: { readonly store: LateStore }) => {
  const { start, head } = await store.readView({ id: "s" });
  return { start, head };
};

describe("the request of a turn", () => {
  it("is not reduced where it fits, nor made where the turn is stored", async () => {
    const scene = await sceneOf(2);
    const fresh = await scene.fit("new");
    expect(fresh?.history).toHaveLength(4);
    expect(scene.types()).toEqual(["context_usage"]);
    const opened = { ...(await scene.open("other")), state: "stored" as const };
    const { session, source } = scene;
    const stored = await fitHistory(session, { source, opened, model: undefined, config: {} });
    expect(stored).toEqual({ history: opened.history, measured: undefined });
    expect(scene.types()).toEqual(["context_usage"]);
    expect(scene.reductions).not.toHaveBeenCalled();
  });

  it("is reduced, and that is stored before it is sent", async () => {
    const scene = await sceneOf(30);
    const fitted = await scene.fit("new");
    expect(fitted!.history.length).toBeLessThan(60);
    expect(scene.store.commits).toBe(1);
    expect(await scene.history.getMessages()).toHaveLength(fitted!.history.length);
  });

  it("has no reduction where one is due and nothing can leave", async () => {
    const { session, window } = await sceneOf(0, { trigger: { messages: 1 } });
    const messages = [human("q", "q")];
    const fitted = await fitRequest(session, { window, messages, request: {}, trace: undefined });
    expect(fitted).toMatchObject({ messages, reduction: undefined });
  });

  it("tells the sizes of its history, before and after", async () => {
    const { session, window } = await sceneOf(0);
    const rounds = Array.from({ length: 40 }, (_, at) => [human(`why? ${at}`), ai("so. ".repeat(20))]).flat();
    const request = { besides: [human("now? ".repeat(20))] };
    const { messages, reduction } = await fitRequest(session, { window, messages: rounds, request, trace: undefined });
    const { tokenCounter } = window;
    // Without what a request takes besides its messages.
    const tokens = async (list: readonly BaseMessage[]) =>
      (await countMessages(tokenCounter, list)) - tokenCounter.perRequest;
    expect(reduction).toMatchObject({
      before: { messages: 80, tokens: await tokens(rounds) },
      after: { messages: messages.length, tokens: await tokens(messages) },
    });
    expect(rounds.slice(-messages.length)).toEqual(messages);
  });

  it("fits also where its own results could be shortened, which are sent whole", async () => {
    const { session, window } = await sceneOf(0);
    const rounds = Array.from({ length: 12 }, (_, at) => [human(`why? ${at}`), ai("so. ".repeat(20))]).flat();
    const steps = [1, 2, 3, 4, 5].flatMap((at) => [
      ai("", { calls: [`c${at}`] }),
      tool(`c${at}`, "word ".repeat(at === 1 ? 300 : 1)),
    ]);
    const request = { besides: [human("look"), ...steps] };
    const fitted = await fitRequest(session, { window, messages: rounds, request, trace: undefined });
    expect(fitted.measured!.size.tokens).toBeLessThanOrEqual(600);
    expect(rounds).toEqual(expect.arrayContaining([...fitted.messages]));
  });

  it("keeps no round of its history for being the newest where its question is", async () => {
    const { session, window } = await sceneOf(0);
    const request = { besides: [human("now? ".repeat(150))] };
    const messages = [human("why? ".repeat(200)), ai("so.")];
    const fitted = await fitRequest(session, { window, messages, request, trace: undefined });
    expect(fitted.messages).toEqual([]);
  });

  it("is sent as it is where the window is not known", async () => {
    const { session, types } = await sceneOf(0);
    const messages = [human("why? ".repeat(900))];
    const given = { window: contextWindow() as never, messages, request: {}, trace: undefined };
    expect(await fitRequest(session, given)).toEqual({ messages, measured: undefined, reduction: undefined });
    expect(types()).toEqual([]);
  });

  it("is sent as it is where a reducer fails, which is said", async () => {
    const { session, window, reductions, events } = await sceneOf(0, { trigger: { messages: 1 } });
    const given = { window, messages: [human("q"), ai("a")], request: {}, trace: undefined };
    const error = new Error("broken");
    reductions.mockRejectedValueOnce(error);
    expect(await fitRequest(session, given)).toMatchObject({ messages: given.messages, reduction: undefined });
    expect(events[0]).toMatchObject({ type: "reduction_failed", sessionId: "s", error });
  });

  it("reports a summary that failed", async () => {
    const model = RunnableLambda.from(() => Promise.reject<string>(new Error("no model")));
    const { session, window, events } = await sceneOf(0, { summary: { model: model as never } });
    const messages = Array.from({ length: 40 }, (_, at) => [human(`why? ${at}`), ai("so. ".repeat(20))]).flat();
    await fitRequest(session, { window, messages, request: { besides: [human("now?")] }, trace: undefined });
    expect(events.map(({ type }) => type)).toContain("reduction_failed");
  });

  it("is stored later with reduceWhen: background", async () => {
    const scene = await sceneOf(30, {}, "background");
    await scene.fit("new");
    expect(scene.store.commits).toBe(0);
    await scene.memory.drain();
    expect(scene.store.commits).toBe(1);
  });

  it("that was refused as too long is not tried again where nothing can leave", async () => {
    const { session, source, events } = await sceneOf(0);
    const failed = { source, messages: [human("q")], request: {}, trace: undefined };
    const error = new Error("prompt is too long: 700 tokens > 600 maximum");
    expect(await fitRefused(session, { ...failed, error }).catch(() => undefined)).toBeUndefined();
    expect(events.filter((event) => event.type === "context_overflow" && event.retried)).toEqual([]);
  });

  it("that failed for another reason is not tried again, and tells nothing", async () => {
    const { session, source, types } = await sceneOf(30);
    const failed = { source, messages: [human("q")], request: {}, trace: undefined };
    expect(await fitRefused(session, { ...failed, error: new Error("no network") })).toBeUndefined();
    expect([types(), source.isTold]).toEqual([[], true]);
  });
});

describe("the reduced history of a turn", () => {
  const size = { messages: 2, tokens: 9 };
  const reduced = (messages: BaseMessage[]) => ({ messages, before: size, after: size, overBudgetBy: 0 });

  it("does not become the view where the turn left the view before", async () => {
    const scene = await sceneOf(4);
    await scene.history.append([human("now?", "q"), ai("answer")], { turnId: "t" });
    for (let at = 0; at < 4; at += 1) {
      await scene.history.append([human("and?"), ai("so.")]);
    }
    const { session } = scene;
    const whole = await openTurn({ session, turnId: undefined, input: [human("x")] });
    await commitHistory(session, whole, reduced(whole.history.slice(-4)));
    const before = await view(scene);
    expect(before.start).toBeGreaterThan(9);
    const opened = await scene.open("q", "t");
    expect(opened.history).toHaveLength(8);
    await commitHistory(session, opened, reduced(opened.history.slice(-2)));
    expect(await view(scene)).toEqual(before);
  });

  it("is reported where others reduced meanwhile, and where the store fails", async () => {
    const scene = await sceneOf(4);
    const { session } = scene;
    const first = await scene.open("x");
    await commitHistory(session, first, reduced(first.history.slice(-4)));
    await commitHistory(session, first, reduced(first.history.slice(-2)));
    expect(scene.types().filter((type) => type !== "reduced")).toEqual(["reduction_stale"]);
    const second = await scene.open("x");
    scene.store.failing = new Error("gone");
    await commitHistory(session, second, reduced(second.history.slice(-2)));
    expect(scene.events.at(-1)).toMatchObject({ type: "reduction_failed", sessionId: "s", error: scene.store.failing });
  });
});
