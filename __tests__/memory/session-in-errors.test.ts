import { AIMessage } from "@langchain/core/messages";
import { join } from "node:path";
import { StoreError } from "../../src/base/errors.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { writeTurn } from "../../src/memory/session/append-options.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";
import { readTree } from "../support/source-tree.js";

/** An id that would break a line of a log. */
const sessionId = `chat\n${"7".repeat(200)}`;
const shown = /session chat%0A7{73}…/;
const half = new AIMessage({ content: "half", response_metadata: { interrupted: true } });

function open() {
  const store = new InMemorySessionStore();
  return { store, history: new RedisChatMemory({ store }).history(sessionId) };
}

describe("An error that names a session", () => {
  it("shows its id encoded and truncated where a removal may have happened", async () => {
    const { store, history } = open();
    await history.append([human("q")]);
    jest
      .spyOn(store.edits, "rewind")
      .mockRejectedValue(
        new StoreError("No reply.", { code: "timeout", operation: "rewind", sessionId, retryable: true }),
      );
    await expect(history.removeLast()).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(shown),
    });
  });

  it("shows its id encoded and truncated where others wrote behind an interrupted answer", async () => {
    const { history } = open();
    await writeTurn(history, [human("q"), half], { turnId: "t", turn: { done: false } });
    await history.append([human("of another tab")]);
    const refused = history.append([human("q"), ai("whole")], { turnId: "t" });
    await expect(refused).rejects.toMatchObject({ code: "position", message: expect.stringMatching(shown) });
  });

  it("takes its words from one place of src", () => {
    const own = readTree(join(__dirname, "..", "..", "src")).flatMap(({ path, text }) =>
      (text.match(/[Ss]ession "?\$\{(?!encoded|JSON)[^}]*\}(?=.*[;+]$)/gm) ?? []).map((words) => `${path}: ${words}`),
    );
    expect(own).toEqual([]);
  });
});
