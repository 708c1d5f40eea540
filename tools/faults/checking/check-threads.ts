import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText, type Token } from "../journal/runs.js";
import { isTouched, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";

/** A thread as a new saver reads it when all is over. */
export interface FinalThread {
  readonly id: string;
  /** The messages of the newest checkpoint. */
  readonly tokens: readonly Token[];
  /** One for each checkpoint that cannot be read. */
  readonly errors: readonly string[];
}

/**
 * Checks the threads of LangGraph, each of which one process owns: every checkpoint can be read, and holds each message
 * that was acknowledged before, once and in order. A message with an unknown outcome may stand there or not; in a
 * thread that a failover may have set back, so may each other one.
 */
export function checkThreads(
  threads: readonly FinalThread[],
  calls: readonly Call[],
  windows: readonly FailoverWindow[],
): Finding[] {
  return threads.flatMap(({ id, tokens, errors }) => {
    const own = calls.filter(({ thread }) => thread === id).sort((left, right) => left.asked - right.asked);
    const maySetBack = own.some(({ asked }) => isTouched(windows, asked, Infinity));
    const puts = own.filter((call) => call.do === "put" && call.ok);
    const reads = own.filter((call) => call.do === "get");
    const says = [
      ...errors,
      ...differences(tokens, puts, maySetBack),
      ...reads.flatMap(({ ok, asked, answer }) => {
        const before = puts.filter(({ told }) => told <= asked);
        const found = ok ? differences(readRuns(answer.runs ?? ""), before, maySetBack) : damages(answer.error);
        return found.map((text) => `${text}, in a read at ${asked}`);
      }),
    ];
    return says.map((text) => ({ figure: "brokenThreads", session: id, amount: 1, says: text }));
  });
}

/** Errors of a read that no fault brings about. */
function damages(error: string | undefined): string[] {
  return error === "damaged" || error === "corrupt" ? [`a checkpoint is ${error}`] : [];
}

function differences(tokens: readonly Token[], puts: readonly Call[], maySetBack: boolean): string[] {
  const shown = tokens.map(tokenText);
  const wanted = puts.flatMap(({ turn, count }) =>
    Array.from({ length: count! }, (_, index) => tokenText({ turn: turn!, index })),
  );
  const isShown = new Set(shown);
  const isWanted = new Set(wanted);
  const missing = maySetBack ? [] : wanted.filter((text) => !isShown.has(text));
  const twice = shown.filter((text, index) => shown.indexOf(text) !== index);
  const inOrder = shown.filter((text, index) => isWanted.has(text) && shown.indexOf(text) === index);
  const present = wanted.filter((text) => isShown.has(text));
  const isReordered = inOrder.some((text, index) => text !== present[index]);
  return [
    ...missing.map((text) => `${text} is missing`),
    ...twice.map((text) => `${text} stands there twice`),
    ...(isReordered ? ["messages stand in another order than they were put"] : []),
  ];
}
