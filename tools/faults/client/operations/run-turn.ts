import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { HistoryManager } from "../../../../src/doors/tool-loop/history-manager.js";
import { approximateCounter } from "../../../../src/conversation/tokens/counters/approximate-counter.js";
import { answerFor } from "../conversation.js";
import { questionOf } from "../doors.js";
import { issuesOf, type Lane } from "../lane.js";
import type { Operation } from "./operation.js";

const counter = approximateCounter();

/** A turn of a chain, retried as a job that is run again. */
export const chainTurn: Operation = {
  name: "chain-turn",
  weight: () => 2,
  run: (lane, random) => job(lane, { door: "chain", count: 2, repeats: random.chance(0.15) }, invokeChain),
};

/** A turn of an agent with one tool call. */
export const agentTurn: Operation = {
  name: "agent-turn",
  weight: () => 0.6,
  run: (lane, random) =>
    job(lane, { door: "agent", count: 4, repeats: random.chance(0.15) }, async (turn) => {
      const config = { configurable: { sessionId: lane.session.id, turnId: turn } };
      await lane.doors.agent.invoke({ messages: [questionOf(turn)] }, config);
    }),
};

/** A turn of an agent's loop by HistoryManager. */
export const managedTurn: Operation = {
  name: "managed-turn",
  weight: () => 1,
  run: (lane, random) =>
    job(lane, { door: "manager", count: 2, repeats: random.chance(0.15) }, async (turn) => {
      const manager = new HistoryManager({ history: lane.history, maxInputTokens: 20_000, tokenCounter: counter });
      const text = `[${turn}-0] question`;
      const prompt = { originalUserMessage: text, renderedUserMessage: text, renderedSystemMessage: "" };
      const { messages } = await manager.getHistoryForModelCall({ ...prompt, turnId: turn });
      manager.addAssistantMessage(answerFor(turn, 1, { calls: false }));
      await manager.commit({ turnId: turn });
      return { issues: issuesOf(messages as BaseMessage[]) };
    }),
};

/** A run of the deprecated class. It names no turn, so it is not tried again. */
export const messageHistoryRun: Operation = {
  name: "message-history-run",
  weight: () => 0.7,
  run: async (lane) => {
    const turn = lane.newTurn();
    await lane.store(
      { turn, count: 2, door: "runnable" },
      async () => {
        let failed = false;
        const run = lane.doors.withHistory(() => (failed = true));
        await run.invoke([questionOf(turn)], { configurable: { sessionId: lane.session.id } });
        return { ok: !failed };
      },
      { patience: 1 },
    );
  },
};

async function invokeChain(turn: string, lane: Lane) {
  const config = { configurable: { sessionId: lane.session.id, turnId: turn } };
  const answer = await lane.doors.chain.invoke([questionOf(turn)], config);
  // A stored turn gives its stored answer; another turn's would be a mix-up.
  const isOwn = AIMessage.isInstance(answer) && answer.text.startsWith(`[${turn}-1]`);
  return { issues: [...lane.doors.refused(), ...(isOwn ? [] : ["answer of another turn"])] };
}

async function job(
  lane: Lane,
  { repeats, ...kind }: { readonly door: string; readonly count: number; readonly repeats: boolean },
  run: (turn: string, lane: Lane) => Promise<{ issues: string[] } | void>,
): Promise<void> {
  const steps = kind.door !== "manager" && lane.session.persist === "step";
  const question = { ...kind, turn: lane.newTurn(), ...(steps && { steps }) };
  const once = async () => {
    const told = await run(question.turn, lane);
    return lane.doors.isLeftOut(question.turn) ? { ...told, ok: false } : told;
  };
  const again = async () => void (await lane.store(question, once));
  const isStored = await lane.store(question, once);
  lane.own.push({ ...question, isStored, isNamed: true, again });
  if (repeats) {
    await again();
  }
}
