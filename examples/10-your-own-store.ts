// A conversation in a store of your own: the core of the contract is enough for histories, reducers and transcripts.
// `sessionStoreContract` of `langchain-redis-memory/testing` tests such a store.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
import { MapSessionStore } from "./support/map-session-store.js";

const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
const memory = new RedisChatMemory({ store: new MapSessionStore(), reducer });
const history = memory.history("user-1");
await history.addMessages([new HumanMessage("A book about Oslo?"), new AIMessage("Try 'Hunger'.")]);
await history.addMessages([new HumanMessage("And about Rome?"), new AIMessage("Try 'I, Claudius'.")]);

console.log(`view: ${(await history.getMessages()).map(({ text }) => text).join(" | ")}`);
console.log(`transcript: ${(await history.getTranscript()).length} messages`);
console.log(`last round: round ${(await history.getRounds(1))[0]?.index}`);
// Going back takes the group `edits`, which this store does not have.
await history.rewind("some-id").catch((error: Error) => console.log(`rewind: ${error.message}`));
await memory.close();
