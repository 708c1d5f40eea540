import { AIMessage } from "@langchain/core/messages";
import { HistoryManager } from "../../src/entries/tool-loop.js";
import { memoryWith } from "../support/user-programs.js";

/*
 * Programs as users of Unique's HistoryManager write them, for each sentence of its page.
 */
const asked = {
  originalUserMessage: "flights?",
  renderedUserMessage: "<question>flights?</question>",
  renderedSystemMessage: "Plan trips.",
};
const searching = () => new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: { to: "Oslo" } }] });

const newManager = () => new HistoryManager({ history: memoryWith().history("s"), maxInputTokens: 4_000 });

describe("Unique's loop of an orchestrator", () => {
  it("refuses results without a call, answers without a question, and names of another case", async () => {
    const manager = newManager();
    manager.addAssistantMessage(searching());
    await expect(manager.addToolCallResults([{ id: "other", name: "search", content: "x" }])).rejects.toMatchObject({
      option: "id",
    });
    await manager.addToolCallResults([{ id: "c", name: "search", content: "x" }]);
    await expect(manager.commit()).rejects.toMatchObject({ option: "originalUserMessage" });
    await expect(manager.getHistoryForModelCall({ ...asked, renderedUserMessageString: "x" } as never)).rejects.toThrow(
      'did you mean "renderedUserMessage"?',
    );
  });

  it("waits for results whose addition the program did not await", async () => {
    const manager = newManager();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(searching());
    void manager.addToolCallResults([{ id: "c", name: "search", content: "SK 1" }]);
    expect((await manager.getHistoryForModelCall(asked)).messages.at(-1)!.text).toBe("SK 1");
  });
});
