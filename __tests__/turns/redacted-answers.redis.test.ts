import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatHistorySummarizationReducer, withRedisMemory } from "../../src/entries/index.js";
import { redact } from "../../src/entries/structure.js";
import { ToolModel } from "../support/agents.js";
import { closeMemories, events, newMemory } from "../support/memories.js";
import { nativeAnswers } from "../support/native-answers.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";

const client = sharedClient();

afterEach(closeMemories);

const marker = "4111-2222";
const said = {
  text: `Your card ${marker}.`,
  thought: `It is ${marker}.`,
  args: { q: marker, name: marker, id: marker, deep: { list: [marker], data: { type: marker } } },
};

describe.each(Object.entries(nativeAnswers))("what redact takes out of an answer of %s", (_, answer) => {
  const results = () =>
    ["call_1", "call_2"].map((id) => {
      return new ToolMessage({
        content: said.text,
        artifact: { data: { id: marker }, seen: new Set([marker]) },
        tool_call_id: id,
        name: "lookup",
      });
    });
  const turn = () => [new HumanMessage(said.text), answer(said), ...results(), new HumanMessage("And now?")];

  it("is in no byte of Redis, in no export and in no event", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix }, beforeStore: redact(marker), trackUsage: true });
    const history = memory.history("s", { owner: "ann", title: "Cards" });
    await history.addMessages(turn());
    await history.append(turn(), { turnId: "t" });
    const bytes = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(bytes).toContain("[redacted]");
    expect(bytes).not.toContain(marker);
    const lines: string[] = [];
    for await (const line of memory.sessions.export("s", { owner: "ann" })) {
      lines.push(line);
    }
    expect(lines.join("\n")).toContain("[redacted]");
    expect(lines.join("\n")).not.toContain(marker);
    expect(JSON.stringify(events)).not.toContain(marker);
  });

  it("is in no request of a reduction, so in no trace of it", async () => {
    const summaries = new ToolModel(() => "A summary.");
    const reducer = new ChatHistorySummarizationReducer({ model: summaries, targetCount: 2 });
    const memory = newMemory({ beforeStore: redact(marker), reducer });
    const model = RunnableLambda.from(() => [answer(said), ...results(), new AIMessage(said.text)]);
    for (const question of [said.text, `And ${marker}?`]) {
      await withRedisMemory(model, { memory }).invoke(question, { configurable: { sessionId: "s" } });
    }
    expect(JSON.stringify(summaries.sent)).toContain("[redacted]");
    expect(JSON.stringify(summaries.sent)).not.toContain(marker);
  });
});
