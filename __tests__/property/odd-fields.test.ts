import type { BaseMessage } from "@langchain/core/messages";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { repairConversation, validateConversation } from "../../src/conversation/structure/validate.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import {
  ChatHistoryRoundReducer,
  ChatHistoryTruncationReducer,
} from "../../src/conversation/reducers/truncation-reducer.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

const fields = [
  "tool_calls",
  "invalid_tool_calls",
  "name",
  "additional_kwargs",
  "response_metadata",
  "usage_metadata",
  "content",
  "tool_call_id",
];
const call = { id: "c", name: "f", args: {} };
const values = [
  null,
  7,
  "x",
  {},
  [null],
  [7],
  [{}],
  [{ ...call, id: 7 }],
  [{ ...call, id: {}, name: [], args: null }],
  [{ ...call, name: null }],
  [{ ...call, args: [1] }],
];
const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

/**
 * A conversation in which every message that has the field holds the value in it, as one that was read from elsewhere
 * may.
 */
function withField(field: string, value: unknown): BaseMessage[] {
  const messages = [system("s"), human("q"), aiCalls("c"), tool("c"), ai("z"), human("q2")];
  for (const message of messages) {
    if (field in message) {
      Object.assign(message, { [field]: structuredClone(value) });
    }
  }
  return messages;
}

describe("messages with invalid fields", () => {
  it.each(fields)("are checked, repaired and cut: %s", async (field) => {
    for (const value of values) {
      for (const profile of profiles) {
        validateConversation(withField(field, value), { profile });
        repairConversation(withField(field, value), { profile, purpose: "model-input" });
      }
      const model = { invoke: () => Promise.resolve("They spoke.") };
      for (const reducer of [
        new ChatHistoryTruncationReducer({ targetCount: 1 }),
        new ChatHistoryRoundReducer({ targetRounds: 1 }),
        new ChatHistoryTokenReducer({ maxTokens: 12, tokenCounter: approximateCounter() }),
        new ChatHistorySummarizationReducer({ model, targetCount: 1, thresholdCount: 0, failOnError: false }),
      ]) {
        expect((await reducer.invoke(withField(field, value))).length).toBeGreaterThan(0);
      }
    }
  });
});
