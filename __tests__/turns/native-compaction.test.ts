import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  type ContextWindowOptions,
  type MemoryEvent,
} from "../../src/entries/index.js";
import { sessionOf } from "../../src/memory/redis-chat-message-history.js";
import { compactNatively } from "../../src/turns/native-compaction.js";
import { ai, human, system } from "../support/messages.js";

/** Says that others were first, as often as it is told to. */
class ContestedStore extends InMemorySessionStore {
  contests = 0;

  override async commitReduction(...given: Parameters<InMemorySessionStore["commitReduction"]>) {
    if (this.contests > 0) {
      this.contests -= 1;
      return "stale" as const;
    }
    return super.commitReduction(...given);
  }
}

const compacted = () =>
  new AIMessage({
    content: [{ type: "compaction", content: "They talked." } as never],
    response_metadata: { model_provider: "anthropic" },
  });
const anthropic = (fields: object = {}) => ({ _llmType: () => "anthropic", invocationKwargs: {}, ...fields });
let sessions = 0;

/** A session whose conversation is to be compacted at each request, and what its provider is asked. */
async function sceneOf(stored: readonly BaseMessage[], options: Partial<ContextWindowOptions> = {}) {
  const events: MemoryEvent[] = [];
  const store = new ContestedStore();
  const memory = new RedisChatMemory({
    store,
    reducer: contextWindow({
      ...{ maxInputTokens: 2_000, summary: { model: "native" }, trigger: { messages: 1 } },
      ...options,
    }),
    onEvent: (event) => void events.push(event),
  });
  const history = memory.history(`native-${(sessions += 1)}`);
  await history.addMessages([...stored]);
  const session = sessionOf("test", history);
  const asked: Record<string, unknown>[] = [];
  const compact = (
    model: object,
    {
      messages = stored,
      answer = () => compacted(),
    }: { messages?: readonly BaseMessage[]; answer?: () => BaseMessage | Promise<BaseMessage> } = {},
  ) =>
    compactNatively(session, {
      ...{ source: session.context.window!, messages, request: { model }, config: undefined },
      ask: async (_, inner) => {
        asked.push(inner as Record<string, unknown>);
        return answer();
      },
    });
  const shown = async () => (await history.getMessages()).map(({ text, content }) => text || content);
  const types = () => events.map(({ type }) => type);
  return { store, history, asked, compact, shown, events, types };
}

const talk = () => [human("q1", "q1"), ai("a1", { id: "a1" }), human("q2", "q2"), ai("a2", { id: "a2" })];
const block = [{ type: "compaction", content: "They talked." }];

describe("a provider that compacts on demand", () => {
  it("is asked by a model like the conversation's, without what the API refuses beside it", async () => {
    const edits = [{ type: "clear_tool_uses_20250919" }];
    const fields = { stopSequences: ["x"], contextManagement: { edits }, invocationKwargs: { top: 1 }, kept: "own" };
    const model = anthropic(fields);
    const { asked, compact } = await sceneOf(talk());
    await compact(model);
    const [inner] = asked;
    expect([inner!["stopSequences"], inner!["contextManagement"], inner!["streaming"]]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    expect(inner!["invocationKwargs"]).toEqual({ top: 1, compaction: { type: "summarize" } });
    expect([inner!["betas"], inner!["kept"]]).toEqual([["compact-2026-09-04"], "own"]);
    expect((model as { stopSequences?: unknown }).stopSequences).toEqual(["x"]);
  });

  it("is asked by the model that a configurable one makes", async () => {
    const { asked, compact } = await sceneOf(talk());
    await compact({ _getModelInstance: () => Promise.resolve(anthropic({ betas: ["one"] })) });
    expect(asked.map(({ betas }) => betas)).toEqual([["one", "compact-2026-09-04"]]);
  });

  it("is not asked far from the window, nor where the window is not known", async () => {
    for (const options of [{ trigger: [] }, { maxInputTokens: undefined }] as Partial<ContextWindowOptions>[]) {
      const { asked, compact, types } = await sceneOf(talk(), options);
      await compact(anthropic());
      expect([asked, types()]).toEqual([[], []]);
    }
  });

  it("is not asked where it compacts by itself, also beside other edits", async () => {
    const { asked, compact, types } = await sceneOf(talk());
    const edits = [{ type: "clear_tool_uses_20250919" }, { type: "compact_20260112" }];
    await compact(anthropic({ contextManagement: { edits } }));
    expect([asked, types()]).toEqual([[], []]);
  });

  it.each<[string, object]>([
    ["of another provider", { _llmType: () => "another", invocationKwargs: {} }],
    ["that takes no fields", { _llmType: () => "anthropic" }],
    ["without a kind", { invocationKwargs: {} }],
  ])("is not asked by a model %s, which is said", async (_, model) => {
    const { asked, compact, events } = await sceneOf(talk());
    await compact(model);
    expect(asked).toEqual([]);
    const error = expect.objectContaining({ option: "summary" }) as unknown;
    expect(events).toEqual([expect.objectContaining({ type: "reduction_failed", error })]);
  });

  it("is not asked, and nothing is said, where the model's own fields ask it", async () => {
    const { asked, compact, types } = await sceneOf(talk());
    await compact({ _llmType: () => "openai", modelKwargs: { context_management: [{ type: "compaction" }] } });
    expect([asked, types()]).toEqual([[], []]);
  });

  it("is not asked for messages that left the view meanwhile", async () => {
    const { asked, compact, types } = await sceneOf(talk());
    await compact(anthropic(), { messages: [...talk(), human("gone", "gone")] });
    expect([asked, types()]).toEqual([[], []]);
  });

  it("is given a pause after three failures in a row, and none where it succeeded between", async () => {
    const failing = { answer: () => ai("No.") };
    const paused = await sceneOf(talk());
    for (let time = 0; time < 5; time += 1) {
      await paused.compact(anthropic(), failing);
    }
    expect(paused.asked).toHaveLength(3);
    const other = await sceneOf(talk());
    await other.compact(anthropic(), failing);
    await other.compact(anthropic(), failing);
    // Others rewind meanwhile, so that the conversation may be compacted again.
    await other.compact(anthropic(), {
      answer: async () => {
        await other.history.rewind("a2");
        return compacted();
      },
    });
    const messages = talk().slice(0, 3);
    await other.compact(anthropic(), { ...failing, messages });
    await other.compact(anthropic(), { ...failing, messages });
    expect(other.asked).toHaveLength(5);
    expect(other.types().filter((type) => type === "reduction_failed")).toHaveLength(4);
  });
});

describe("a provider's compaction", () => {
  it("stands behind instructions and before what came meanwhile", async () => {
    const { history, compact, shown } = await sceneOf([system("Be brief."), ...talk()]);
    const answer = async () => {
      await history.addMessages([human("meanwhile")]);
      return compacted();
    };
    await compact(anthropic(), { messages: talk(), answer });
    expect(await shown()).toEqual(["Be brief.", block, "meanwhile"]);
  });

  it("is stored by another try where others were first, without being made again", async () => {
    const { store, compact, shown, asked, events } = await sceneOf(talk());
    store.contests = 2;
    await compact(anthropic());
    expect([await shown(), asked.length]).toEqual([[block], 1]);
    const sizes = { before: { messages: 4 }, after: { messages: 1 } };
    expect(events).toMatchObject([{ type: "reduced", ...sizes }]);
  });

  it("is given up where others are first each time, which is said", async () => {
    const { store, compact, shown, types } = await sceneOf(talk());
    store.contests = 3;
    await compact(anthropic());
    expect([await shown(), store.contests]).toEqual([["q1", "a1", "q2", "a2"], 0]);
    expect(types()).toEqual(["reduction_stale"]);
  });
});
