import { HumanMessage } from "@langchain/core/messages";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { newMemory } from "../support/memories.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const redis = sharedClient();

const long = "x".repeat(513);
/** 512 characters, and 1,024 bytes. */
const wide = "é".repeat(512);

describe("a name that a client gives", () => {
  it.each([
    ["a run's turn", "turnId"],
    ["the turn of a run to stop", "turnId"],
    ["the turn of a run to join", "turnId"],
    ["a position in a run", "after"],
    ["an append's turn", "turnId"],
    ["the turn of withTurn", "turnId"],
    ["a chain's turn", "turnId"],
    ["a HistoryManager's turn", "turnId"],
    ["the message around which a page lies", "around"],
    ["a text to search for", "text"],
  ])("is refused above its limit before anything is written: %s", async (call, option) => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    const history = memory.history("s");
    const runs = redisRuns(memory);
    const chat = withRedisMemory(new ScriptedModel(() => "fine"), { memory });
    const asked = { originalUserMessage: "q", renderedUserMessage: "q", renderedSystemMessage: "" };
    const calls: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
      "a run's turn": (turnId) => runs.start("s", { turnId }, async function* () {}),
      "the turn of a run to stop": (turnId) => runs.stop("s", { turnId }),
      "the turn of a run to join": (turnId) => runs.join("s", { turnId })[Symbol.asyncIterator]().next(),
      "a position in a run": (after) => runs.join("s", { after })[Symbol.asyncIterator]().next(),
      "an append's turn": (turnId) => history.append([new HumanMessage("q")], { turnId }),
      "the turn of withTurn": (turnId) => memory.withTurn("s", () => "fine", { turnId, input: "q" }),
      "a chain's turn": (turnId) => chat.invoke("q", { configurable: { sessionId: "s", turnId } }),
      "a HistoryManager's turn": (turnId) =>
        new HistoryManager({ history, maxInputTokens: 100 }).getHistoryForModelCall({ ...asked, turnId }),
      "the message around which a page lies": (around) => history.getPage({ around }),
      "a text to search for": (text) => memory.sessions.search({ text: text.repeat(2) }),
    };
    for (const name of [long, wide]) {
      const refused = await (async () => calls[call]!(name))().then(
        () => "accepted",
        (error: unknown) => error,
      );
      expect(refused).toMatchObject({ name: "ConfigurationError", option });
      expect(String(refused)).not.toContain("xxx");
    }
    expect(await redis.keys(`${keyPrefix}:*`)).toEqual([]);
  });

  it("is no part of an error about arguments that are no data", async () => {
    const calls = [{ id: "c", name: "f", args: { "SSN 123-45-6789": () => 1 } }];
    const message = { role: "assistant", content: "", tool_calls: calls } as never;
    const refused: unknown = await newMemory()
      .history("s")
      .addMessage(message)
      .catch((error: unknown) => error);
    expect(String(refused)).toContain("tool_calls[0].args.… is a function");
    expect(String(refused)).not.toContain("SSN");
  });
});
