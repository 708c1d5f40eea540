import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { setTimeout as pause } from "node:timers/promises";
import { ToolModel } from "../../../__tests__/support/agents.js";
import { addCoverage, coverageIn, coverageOf, coverageText } from "../journal/coverage.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import { tokensIn, writeRuns } from "../journal/runs.js";
import { answerFor } from "./conversation.js";
import { currentDoor } from "./lane.js";

/**
 * Answers the newest question: the turn is read from its text. The turns of agents call the tool once and answer after
 * its result.
 */
export function answerTo(messages: readonly BaseMessage[], { calls }: { readonly calls: boolean }) {
  const last = messages.findLastIndex((message) => message.getType() === "human");
  const [token] = tokensIn(messages[last]?.text ?? "");
  const index = messages.length - last;
  return answerFor(token?.turn ?? "unknown", index, { calls: calls && index === 1 });
}

/** The model of the agents. */
export function agentModel(): ToolModel {
  const model: ToolModel = new ToolModel((messages) => {
    // The requests sent to it would grow for as long as the process lives.
    model.sent.length = 0;
    return answerTo(messages, { calls: true });
  });
  return model;
}

/**
 * The model of the summaries: it says which messages it saw, and what the summaries before said. Each call is noted in
 * the journal, so that two at once for one session are seen.
 */
export function summaryModel(journal: JournalWriter): RunnableLambda<BaseMessage[], string> {
  return RunnableLambda.from(async (messages: BaseMessage[]) => {
    const text = messages.at(-1)!.text;
    const [before = "", after = before] = text.split("<messages>");
    const seen = tokensIn(text.includes("<messages>") ? after : "");
    const door = currentDoor.getStore();
    const number = journal.ask({ ...(door && { door }), do: "summarize", ...(seen[0] && { turn: seen[0].turn }) });
    await pause(100 + (seen.length % 7) * 80);
    const keepsSoFar = text.includes("Write a summary of the messages only");
    const soFar = keepsSoFar || !text.includes("<summary_so_far>") ? coverageIn("") : coverageIn(before);
    journal.told(number, { ok: true, runs: writeRuns(seen) });
    return coverageText(addCoverage(soFar, coverageOf(seen)));
  });
}
