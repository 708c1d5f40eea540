import type { BaseMessage } from "@langchain/core/messages";
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

async function sceneOf(count: number, options: ContextWindowOptions = {}) {
  const events: MemoryEvent[] = [];
  const store = new LateStore();
  const memory = new RedisChatMemory({
    store,
    reducer: contextWindow({ maxInputTokens: 600, reserveForAnswer: 0, safetyMargin: 0, ...options }),
    onEvent: (event) => void events.push(event),
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
  return { events, types, store, history, session, source, window, reductions, open, fit };
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

  it("fits also where its own result has to be shortened for that", async () => {
    const { session, window } = await sceneOf(0);
    const rounds = Array.from({ length: 12 }, (_, at) => [human(`why? ${at}`), ai("so. ".repeat(20))]).flat();
    const besides: BaseMessage[] = [human("look"), ai("", { calls: ["c"] }), tool("c", "word ".repeat(450))];
    const fitted = await fitRequest(session, { window, messages: rounds, request: { besides }, trace: undefined });
    expect(fitted.measured!.size.tokens).toBeLessThanOrEqual(600);
    expect(rounds).toEqual(expect.arrayContaining([...fitted.messages]));
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
