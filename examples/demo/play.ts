import { isDeepStrictEqual } from "node:util";
import { mapChatMessagesToStoredMessages, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { withRedisMemory } from "langchain-redis-memory";
import { validateConversation } from "langchain-redis-memory/structure";
import type { Backend } from "./backend.js";
import type { RecordedConversation } from "./conversations.js";

/** What happened to one conversation. */
export interface PlayedConversation {
  readonly sessionId: string;
  readonly transcript: { readonly messages: number; readonly rounds: number };
  readonly view: { readonly messages: number; readonly rounds: number };
  readonly turns: number;
  readonly modelCalls: number;
  readonly reductions: number;
  readonly roundTrips: number;
  readonly problems: readonly string[];
}

/** Plays the turns on both instances in turns, and checks what the model was sent, what it cost and what was kept. */
export async function playConversation(
  { id, turns }: RecordedConversation,
  backend: Backend,
): Promise<PlayedConversation> {
  const problems: string[] = [];
  let modelCalls = 0;
  let reductions = 0;
  let roundTrips = 0;
  const modelCall = (sent: readonly BaseMessage[]) => {
    modelCalls += 1;
    const errors = validateConversation(sent, { purpose: "model-input" }).filter(
      ({ severity }) => severity === "error",
    );
    problems.push(
      ...errors.map(({ rule, index }) => `${id}: model call ${modelCalls}, message ${index} breaks ${rule}`),
    );
  };
  for (const [index, turn] of turns.entries()) {
    const memory = backend.instances[index % backend.instances.length]!;
    const agent = withRedisMemory(replay(turn.output, modelCall), { memory, sessionId: id });
    backend.takeEvents();
    await agent.invoke(turn.input);
    const events = backend.takeEvents();
    const commands = events.filter(({ type }) => type === "command").length;
    const reduced = events.filter(({ type }) => type === "reduced").length;
    reductions += reduced;
    roundTrips += commands;
    // The session is read first where an input of several messages could hold stored ones: here a system message.
    const expected = (turn.input.length > 1 ? 3 : 2) + reduced;
    if (commands !== expected || reduced > 1) {
      problems.push(`${id}: turn ${index + 1} made ${commands} round trips and ${reduced} reductions`);
    }
  }
  const history = backend.instances[0]!.history(id);
  const [transcript, view] = [await history.getTranscript(), await history.getMessages()];
  if (!isDeepStrictEqual(content(transcript), content(turns.flatMap(({ input, output }) => [...input, ...output])))) {
    problems.push(`${id}: the transcript is not what was sent in`);
  }
  return {
    sessionId: id,
    transcript: sizeOf(transcript),
    view: sizeOf(view),
    turns: turns.length,
    modelCalls,
    reductions,
    roundTrips,
    problems,
  };
}

/** An agent that answers as recorded: one model call for each AI message, on all that it has seen so far. */
function replay(output: readonly BaseMessage[], modelCall: (sent: readonly BaseMessage[]) => void) {
  return RunnableLambda.from((messages: BaseMessage[]) => {
    const seen = [...messages];
    for (const message of output) {
      if (message.getType() === "ai") {
        modelCall(seen);
      }
      seen.push(message);
    }
    return { messages: [...output] };
  });
}

function sizeOf(messages: readonly BaseMessage[]) {
  return { messages: messages.length, rounds: messages.filter((message) => message.getType() === "human").length };
}

/** Messages without the ids that storing gave them. */
function content(messages: readonly BaseMessage[]): unknown {
  return mapChatMessagesToStoredMessages([...messages]).map(({ type, data }) => ({
    type,
    data: { ...data, id: undefined },
  }));
}
