import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { redact } from "../../src/entries/structure.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import type { BeforeStore } from "../../src/memory/session/stored-forms.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { asking, call } from "./instances.js";

const client = sharedClient();
afterEach(closeMemories);

const marker = "4111-2222";
const cited = { id: "doc", chunkId: "0", text: `Card ${marker}.` };

/** Managers of one session, each of another instance, and all bytes that its memory stored. */
function sessionWith(beforeStore: BeforeStore) {
  const keyPrefix = uniquePrefix();
  const instance = () => {
    const history = newMemory({ redis: { keyPrefix }, beforeStore }).history("s");
    return new HistoryManager({ history, maxInputTokens: 10_000 });
  };
  return { instance, bytes: async () => [...(await storedBytes(client, keyPrefix))].flat().join("\n") };
}

/** A turn whose answer cites what a tool found; not committed. */
async function answered(manager: HistoryManager): Promise<void> {
  await manager.getHistoryForModelCall(asking("Which card?"));
  manager.appendToolCalls([call("c1", {})]);
  await manager.addToolCallResults([{ id: "c1", name: "search", chunks: [cited], systemReminder: "Cite." }]);
  manager.addAssistantMessage(new AIMessage("That one [source1]."));
}

describe("cited sources of a memory that redacts", () => {
  it("are stored without a match, and so seen by later turns; the turn itself sees what was found", async () => {
    const { instance, bytes } = sessionWith(redact(marker));
    const first = instance();
    await answered(first);
    expect(first.references.chunkOf(1)).toEqual(cited);
    await first.commit();
    expect(await bytes()).not.toContain(marker);
    for (const next of [first, instance()]) {
      await next.getHistoryForModelCall(asking("And now?"));
      expect(next.references.chunkOf(1)).toEqual({ ...cited, text: "Card [redacted]." });
    }
  });

  it("are given to beforeStore as the text of their tool's result", async () => {
    const given: BaseMessage[] = [];
    const { instance } = sessionWith((message) => {
      given.push(message);
      return message;
    });
    const manager = instance();
    await answered(manager);
    await manager.commit();
    const expected = { content: cited.text, name: "search", tool_call_id: "c1", status: "success" };
    expect(given.filter(({ content }) => content === cited.text)).toMatchObject([expected]);
    expect(manager.references.chunkOf(1)).toEqual(cited);
  });

  it("refuse the turn where beforeStore refuses one, and nothing is stored", async () => {
    const { instance, bytes } = sessionWith((message) => {
      if (message instanceof ToolMessage && message.content === cited.text) {
        throw new Error("no cards");
      }
      return message;
    });
    const manager = instance();
    await answered(manager);
    await expect(manager.commit()).rejects.toMatchObject({ name: "RecordError", code: "refused" });
    expect(await bytes()).not.toContain("Which card?");
  });
});
