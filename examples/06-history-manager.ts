// An agent's loop in a window that is too small for it: parallel and failing tools, uploads and sources, on two
// instances in turns.
import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory } from "langchain-redis-memory";
import { validateConversation } from "langchain-redis-memory/structure";
import { HistoryManager, type FittedWindow } from "langchain-redis-memory/tool-loop";
import { connection } from "./support/setting.js";

const shared = connection();
const sessionId = `travel-${randomUUID()}`;
const tools = ["search", "book", "map"].map((name) => ({
  type: "function" as const,
  function: {
    name,
    description: `The ${name} tool.`,
    parameters: { type: "object", properties: { query: { type: "string" } } },
  },
}));

/** An instance of the application: in production a process of its own. */
function instance(): { history: RedisChatMessageHistory; manager: HistoryManager } {
  const history = new RedisChatMessageHistory({ ...shared, sessionId, sessionTTL: 3600 });
  return { history, manager: new HistoryManager({ history, maxInputTokens: 1600, tools }) };
}

const chunks = (id: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id,
    chunkId: String(index),
    text: `Paragraph ${index + 1} of ${id}: `.padEnd(400, "the rules for trips by train and by air; "),
  }));
const calling = (text: string, ...calls: [id: string, name: string][]) =>
  new AIMessage({
    content: text,
    tool_calls: calls.map(([id, name]) => ({ type: "tool_call", id, name, args: { query: `${name} for ${id}` } })),
  });

/** A row for each call: the size of the request, and what of it is not sent whole. */
function printRow(label: string, { messages, outcome }: FittedWindow): void {
  const problems = validateConversation(messages, { purpose: "model-input" });
  const cells = [
    ...[label, `${outcome.tokens} of ${outcome.limit}`, String(outcome.overBudgetBy), String(messages.length)],
    ...[String(outcome.removed.length), problems.length === 0 ? "yes" : "NO"],
  ];
  console.log(cells.map(pad).join("") + (outcome.shortened.length > 0 ? `  ${outcome.shortened.join(", ")}` : ""));
}

function pad(cell: string, index: number): string {
  return index === 0 ? cell.padEnd(16) : cell.padStart([14, 6, 10, 9, 7][index - 1]!);
}

/** Rows for a turn: the model's messages in turn, each followed by what its tools gave. */
async function play(
  manager: HistoryManager,
  question: string,
  steps: readonly (readonly [AIMessage, ...Parameters<HistoryManager["addToolCallResults"]>[0]])[],
) {
  for (const [index, [answer, ...results]] of steps.entries()) {
    const window = await manager.getHistoryForModelCall({
      originalUserMessage: question,
      renderedUserMessage: `Answer from the sources and cite them as [sourceN].\n\n${question}`,
      renderedSystemMessage: "You plan business trips.",
      removeFromText: (text) => text.replace(/\n\nAsk next: .*/, ""),
    });
    printRow(`  model call ${index + 1}`, window);
    manager.addAssistantMessage(answer);
    await manager.addToolCallResults(results);
  }
}

function printStored(messages: readonly BaseMessage[]): void {
  messages.forEach((message) =>
    console.log(`  ${message.getType().padEnd(6)} ${JSON.stringify(message.content).slice(0, 100)}`),
  );
}

const [one, two] = [instance(), instance()];
console.log(["", "tokens", "over", "messages", "removed", "valid"].map(pad).join("") + "  shortened");

console.log("Turn 1, instance one: two uploads, three iterations, parallel calls, one of them failing, twelve chunks");
await one.manager.addUploadedContent([
  {
    id: "policy",
    name: "policy.txt",
    mimeType: "text/plain",
    text: "Trips of more than four hours may be by air. ".repeat(60),
  },
  {
    id: "badge",
    name: "badge.png",
    mimeType: "image/png",
    data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  },
]);
await play(one.manager, "May I fly to Vienna?", [
  [
    calling("", ["rules", "search"], ["rates", "search"]),
    { id: "rules", name: "search", chunks: chunks("rules", 5), systemReminder: "Cite each source that you use." },
    { id: "rates", name: "search", chunks: chunks("rates", 4) },
  ],
  [
    calling("By [source1] it depends on the time.", ["seat", "book"], ["route", "map"]),
    { id: "seat", name: "book", errorMessage: "the airline does not answer" },
    { id: "route", name: "map", content: "Ten hours by train. ".repeat(40) },
  ],
  [calling("", ["rest", "search"]), { id: "rest", name: "search", chunks: chunks("hotels", 3) }],
  [
    new AIMessage(
      "Yes: the train takes ten hours, and [source1] allows a flight then. [source10] names a hotel.\n\n" +
        "Ask next: What will it cost?",
    ),
  ],
]);
await one.manager.commit();

console.log("\nTurn 2, instance two: knows the turn, its uploads and its sources, and continues their numbers");
await play(two.manager, "And who pays?", [
  [calling("", ["costs", "search"]), { id: "costs", name: "search", chunks: chunks("costs", 2) }],
  [new AIMessage("The company, by [source13].")],
]);
await two.manager.commit();

console.log("\nTurn 3, instance one again");
await play(one.manager, "Thanks!", [[new AIMessage("Have a good trip.")]]);
await one.manager.commit();

console.log("\nStored, each turn in one write:");
printStored(await one.history.getTranscript());
console.log("\nSources by number, on instance two:");
await two.manager.getHistoryForModelCall({
  originalUserMessage: "?",
  renderedUserMessage: "?",
  renderedSystemMessage: "",
});
two.manager.references
  .toList()
  .forEach(({ sourceNumber, chunk }) => console.log(`  [source${sourceNumber}] ${chunk.id}_${chunk.chunkId}`));
await two.history.clear();
await Promise.all([one.history.close(), two.history.close()]);
