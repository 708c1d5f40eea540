import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  approximateCounter,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  type MemorySettings,
} from "../../../src/entries/index.js";
import { redact } from "../../../src/entries/structure.js";
import type { DoorOperation } from "./cells.js";
import { changeAtRandom } from "./random-changes.js";
import type { Scene } from "./scene.js";

/** A conversation with something that happens to it. */
export interface Operation {
  /** Settings of the memory. */
  readonly settings?: () => MemorySettings;
  /** Runs the conversation. True if what was to happen did. */
  run(scene: Scene): Promise<boolean>;
}

const tokenCounter = approximateCounter();

/** Each operation by its name. */
export const operations: Readonly<Record<DoorOperation, Operation>> = {
  none: { run: (scene) => askAll(scene, 3).then(() => true) },
  truncation: reduced(() => new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 4 })),
  "truncation at each turn": reduced(() => new ChatHistoryTruncationReducer({ targetCount: 5 })),
  tokens: reduced(() => new ChatHistoryTokenReducer({ maxTokens: 300, tokenCounter })),
  summary: reduced(() => summarizer()),
  clip: reduced(
    () => new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 20 }),
    (view) => view.some((message) => message.getType() === "tool" && message.text.length < 150),
  ),
  "repair: a lost result": {
    run: async (scene) => {
      await askAll(scene, 1);
      const stored = await scene.history().getTranscript();
      const lost = stored.find((message) => message.getType() === "tool");
      await scene.history("damaged").addMessages(stored.filter((message) => message !== lost));
      await askAll(scene, 2, { session: "damaged" });
      return lost !== undefined;
    },
  },
  "repair: calls by hand": {
    run: async (scene) => {
      const call = { id: `functions.lookup:0_${"x".repeat(70)}`, name: "look up", args: { query: "x" } };
      await scene.history().addMessages([new HumanMessage("Hi"), new AIMessage({ content: "", tool_calls: [call] })]);
      await askAll(scene, 2);
      return true;
    },
  },
  "names with spaces": {
    run: async (scene) => {
      await scene.history().addMessages([new HumanMessage({ content: "Hi", name: "Ema Vargova" })]);
      await askAll(scene, 2, { name: "Ema Vargova" });
      return true;
    },
  },
  "another provider's answers": {
    run: async (scene) => {
      for (const provider of scene.otherProviders) {
        await askAll(scene, 1, { provider });
      }
      await askAll(scene, 2);
      return true;
    },
  },
  "retry of the question": retried("question"),
  "retry of a step": retried("step"),
  stop: {
    run: async (scene) => {
      await askAll(scene, 1);
      const isStopped = await scene.askAndStop("Stopped?");
      await askAll(scene, 1);
      return isStopped;
    },
  },
  rewind: changed(async (scene, question) => {
    await scene.history().rewind(question.id!);
    return "ann";
  }),
  "edited question": changed(async (scene, question) => {
    await scene.history().replaceFrom(question.id!, [new HumanMessage("Another question?")]);
    return "ann";
  }),
  fork: changed(async (scene, question) => {
    const stored = await scene.history().getTranscript();
    await scene.history().fork("bob", { at: stored.findIndex(({ id }) => id === question.id) });
    return "bob";
  }),
  recalled: {
    run: async (scene) => {
      await askAll(scene, 1);
      await scene.history().addMessages([new SystemMessage("The user likes tea.")]);
      await askAll(scene, 1);
      return true;
    },
  },
  "late system message": {
    run: async (scene) => {
      await askAll(scene, 1);
      await askAll(scene, 1, { late: "The shop closes in an hour." });
      await askAll(scene, 1);
      const stored = await scene.history().getTranscript();
      return stored.some((message) => message.getType() === "system");
    },
  },
  "another system text": {
    run: async (scene) => {
      await askAll(scene, 2);
      await askAll(scene, 1, { system: "Be kind." });
      return true;
    },
  },
  "another tool": {
    run: async (scene) => {
      await askAll(scene, 2);
      await askAll(scene, 2, { hasMoreTools: true });
      return true;
    },
  },
  interrupt: {
    run: async (scene) => {
      await askAll(scene, 1);
      const hasWaited = await scene.askAndWait("May I?");
      await askAll(scene, 1);
      return hasWaited;
    },
  },
  "summary by hand": {
    settings: () => ({ reducer: summarizer(), reduceWhen: "never" }),
    run: async (scene) => {
      await askAll(scene, 3);
      const { changed: isReduced } = await scene.history().reduceView();
      await askAll(scene, 2);
      return isReduced;
    },
  },
  redacted: {
    settings: () => ({ beforeStore: redact(/should|much|look/g) }),
    run: async (scene) => {
      await askAll(scene, 2);
      return (await scene.history().getTranscript()).some(({ text }) => text.includes("[redacted]"));
    },
  },
  "changes at random 1": {
    settings: () => ({ reducer: new ChatHistoryTokenReducer({ maxTokens: 600, tokenCounter }) }),
    run: changeAtRandom,
  },
  "changes at random 2": { settings: () => ({ reducer: summarizer() }), run: changeAtRandom },
  "changes at random 3": {
    settings: () => ({
      reducer: new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 20 }),
      beforeStore: redact(/should/g),
    }),
    run: changeAtRandom,
  },
};

async function askAll(scene: Scene, count: number, asked: Parameters<Scene["ask"]>[1] = {}): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await scene.ask(`Question ${turn}, ${"and more ".repeat(10)}?`, asked);
  }
}

function summarizer(): ChatHistorySummarizationReducer {
  const model = new FakeListChatModel({ responses: ["A summary."] });
  return new ChatHistorySummarizationReducer({ model, targetCount: 4, tokenCounter });
}

function reduced(
  reducer: () => NonNullable<MemorySettings["reducer"]>,
  happened?: (view: readonly BaseMessage[]) => boolean,
): Operation {
  return {
    settings: () => ({ reducer: reducer() }),
    run: async (scene) => {
      await askAll(scene, 4);
      const [view, stored] = [await scene.history().getMessages(), await scene.history().getTranscript()];
      return happened === undefined ? view.length < stored.length : happened(view);
    },
  };
}

function retried(at: "question" | "step"): Operation {
  return {
    run: async (scene) => {
      await askAll(scene, 1);
      const hasFailed = await scene.askInVain("Again?", at, { turnId: "again" });
      await scene.ask("Again?", { turnId: "again" });
      await askAll(scene, 1);
      return hasFailed;
    },
  };
}

/** The second question is changed; returns the session in which the conversation goes on. */
function changed(change: (scene: Scene, question: BaseMessage) => Promise<string>): Operation {
  return {
    run: async (scene) => {
      await askAll(scene, 2);
      const questions = (await scene.history().getMessages()).filter((message) => message.getType() === "human");
      const session = await change(scene, questions[1]!);
      const { length } = await scene.history(session).getMessages();
      await askAll(scene, 1, { session });
      return length < 10;
    },
  };
}
