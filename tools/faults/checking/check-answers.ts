import type { Call } from "../journal/read-journals.js";
import { isBeginning, wholeAnswer } from "../journal/said-parts.js";
import { isTouched, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";

/** A chat whose answers were runs, as a new memory reads it when all is over. */
export interface FinalChat {
  readonly id: string;
  /** The turns of its questions, oldest first. */
  readonly questions: readonly string[];
  /** The answers with their turns. */
  readonly answers: readonly { readonly turn: string; readonly text: string }[];
}

/**
 * Checks the answers that were runs: every reader heard a beginning of the answer, from its first part on, each part
 * once; who was told `done` heard all of it; all readers of a run were told one end; and what was done is stored, once.
 * Not stored is what the memory reported so: others wrote behind the stopped answer that a retry was to replace. Where
 * a failover may have set the chat back, an answer may be missing, and a run may have had two ends.
 */
export function checkAnswers(
  chats: readonly FinalChat[],
  calls: readonly Call[],
  windows: readonly FailoverWindow[],
): Finding[] {
  return chats.flatMap((chat) => {
    const own = calls.filter((call) => call.do === "follow" && call.chat === chat.id);
    const maySetBack = own.some(({ asked }) => isTouched(windows, asked, Infinity));
    const says = [
      ...own.flatMap(wrongReading),
      ...doubled("question", chat.questions),
      ...doubled(
        "answer",
        chat.answers.map(({ turn }) => turn),
      ),
      ...chat.answers
        .filter(({ turn, text }) => !isBeginning(turn, text))
        .map(({ turn, text }) => `the stored answer of turn ${turn} is ${JSON.stringify(text)}`),
      ...(maySetBack ? [] : [...twoEnds(own), ...missing(chat, own)]),
    ];
    return says.map((text) => ({ figure: "brokenRuns", session: chat.id, amount: 1, says: text }) as const);
  });
}

function wrongReading({ turn = "", client, asked, answer }: Call): string[] {
  const { said, end } = answer;
  const heard = `a reader of turn ${turn} (client ${client} at ${asked}) heard ${JSON.stringify(said)}`;
  if (said === undefined || isBeginning(turn, said)) {
    return end === "done" && said !== undefined && said !== wholeAnswer(turn) ? [`${heard}, and then "done"`] : [];
  }
  return [heard];
}

function doubled(what: string, turns: readonly string[]): string[] {
  const twice = turns.filter((turn, index) => turns.indexOf(turn) !== index);
  return twice.map((turn) => `the ${what} of turn ${turn} is stored twice`);
}

/** Ends of which a run has one; `failed` is also what a process says of what it cannot read. */
const ends = new Set(["done", "stopped", "lost"]);

function twoEnds(calls: readonly Call[]): string[] {
  const byRun = new Map<string, string>();
  return calls.flatMap(({ answer: { run, end = "" }, turn }) => {
    if (run === undefined || !ends.has(end)) {
      return [];
    }
    const first = byRun.get(run) ?? end;
    byRun.set(run, first);
    return first === end ? [] : [`the run ${run} of turn ${turn} ended as ${first} and as ${end}`];
  });
}

function missing({ answers }: FinalChat, calls: readonly Call[]): string[] {
  const stored = new Map(answers.map(({ turn, text }) => [turn, text]));
  const turnsOf = (is: (answer: Call["answer"]) => boolean) =>
    new Set(calls.filter(({ answer }) => is(answer)).map(({ turn }) => turn!));
  const leftOut = turnsOf((answer) => answer.leftOut === true);
  return [...turnsOf(({ end }) => end === "done")]
    .filter((turn) => stored.get(turn) !== wholeAnswer(turn) && !leftOut.has(turn))
    .map((turn) => `turn ${turn} is done, and stored is ${JSON.stringify(stored.get(turn))}`);
}
