import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { Redis } from "ioredis";
import {
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  RedisChatMemory,
  tiktokenCounter,
  type ChatHistoryReducer,
} from "langchain-redis-memory";
import { MessageHistory, type OpenAIMessage } from "langchain-redis-memory/openai";

const data = fileURLToPath(new URL("../../examples/data/recorded-conversations.jsonl", import.meta.url));

/** What a recorded conversation is called, and how it is kept. */
interface Scene {
  readonly owner: string;
  readonly title: string;
  readonly reducer?: ChatHistoryReducer;
}

const summaries = [
  "The customer, Ines Lindqvist-Okafor (booking NLJ-48213, with her son Tobias), needs a later train from Copenhagen " +
    "because a meeting moved to 11 March. Tobias has a nut allergy. They chose the 08:26 on 12 March.",
  "Booking NLJ-48213, Ines Lindqvist-Okafor with Tobias (nut allergy). New plan: night of 11 March at Hotel " +
    "Vesterled, NX 530 on 12 March at 08:26, Hotel Gåsgränd 12 to 15 March, NX 71 to Oslo on 15 March at 10:13. " +
    "Rail Plus prices were checked; the voucher of 35.50 may be used at once. The customer agreed to all of it.",
];
let written = 0;
const model = RunnableLambda.from(() => summaries[Math.min(written++, summaries.length - 1)]!);

const scenes: Readonly<Record<string, Scene>> = {
  "travel-rebooking": {
    ...{ owner: "Ines Lindqvist-Okafor", title: "Copenhagen, Stockholm, Oslo: new dates" },
    reducer: new ChatHistorySummarizationReducer({
      ...{ model, maxTokens: 3_400, targetTokens: 2_200, tokenCounter: tiktokenCounter() },
    }),
  },
  "it-stoerung": {
    ...{ owner: "Jördis Brünner", title: "VPN bricht ab" },
    reducer: new ChatHistoryTruncationReducer({ targetCount: 12, thresholdCount: 4 }),
  },
  "parcel-investigation": {
    ...{ owner: "Ferrywell Logistics", title: "FW-88 2047 913, a hearing aid" },
    reducer: new ChatHistoryTokenReducer({ maxTokens: 2_000, targetTokens: 1_400 }),
  },
};

/** Plays the recorded conversations, round by round, into the Redis server behind this socket. */
export async function playScenes(socket: string): Promise<void> {
  const client = new Redis(socket);
  for (const line of readFileSync(data, "utf8").trim().split("\n")) {
    const { id, messages } = JSON.parse(line) as { id: string; messages: OpenAIMessage[] };
    if (scenes[id] === undefined) {
      continue;
    }
    const { reducer, ...identity } = scenes[id];
    await using memory = new RedisChatMemory({ client, ...(reducer && { reducer }) });
    const history = memory.history(id, identity);
    for (const round of roundsOf(new MessageHistory(messages).toMessages())) {
      await history.addMessages(round);
    }
  }
  client.disconnect();
}

function roundsOf(messages: readonly BaseMessage[]): BaseMessage[][] {
  const rounds: BaseMessage[][] = [];
  for (const message of messages) {
    if (message.getType() === "human" || rounds.length === 0) {
      rounds.push([]);
    }
    rounds.at(-1)!.push(message);
  }
  return rounds;
}
