import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { Topology } from "../testkit/topologies/topology.js";
import type { FinalChat } from "./checking/check-answers.js";
import { encryption } from "./client/doors.js";
import { openStores } from "./client/open-stores.js";
import { tokensIn } from "./journal/runs.js";

/** Reads every chat whose answers were runs, past the proxies, with a memory that knows nothing of it. */
export async function readAnswers(topology: Topology, ids: readonly string[]): Promise<FinalChat[]> {
  const stores = openStores(topology.direct, true);
  const memory = new RedisChatMemory({ store: stores.plain, encryption });
  try {
    const chats: FinalChat[] = [];
    for (const id of ids) {
      const messages = await memory.history(id).getTranscript();
      const answers = messages
        .filter((message) => message.getType() === "ai")
        .map(({ text }) => ({ text, ...turnIn(text) }));
      const questions = messages
        .filter((message) => message.getType() === "human")
        .map(({ text }) => turnIn(text).turn);
      chats.push({ id, questions, answers });
    }
    return chats;
  } finally {
    await stores.close();
  }
}

function turnIn(text: string): { readonly turn: string } {
  return { turn: tokensIn(text)[0]?.turn ?? "unknown" };
}
