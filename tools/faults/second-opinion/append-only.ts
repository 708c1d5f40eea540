import type { Call, LastRead, Word } from "./journals.js";
import { judgeLists, type Anomaly, type Transaction } from "./list-append.js";

/**
 * Judges a session from which nothing was removed, or a thread of checkpoints, as a list that transactions append to.
 * A turn is one transaction; where it was written step by step, each of its messages is one.
 */
export function judgeAppends(session: string, calls: readonly Call[], last: LastRead | undefined): Anomaly[] {
  const turns = turnsOf(calls);
  const writes = [...turns.values()].flatMap((turn) => writesOf(session, turn));
  const steps = [...turns.values()].filter(({ steps }) => steps);
  const late = new Set(steps.flatMap(({ turn, count }) => wordsOf(turn, count).slice(1)));
  const reads = calls.filter((call) => call.ok && readings.has(call.does) && (call.thread ?? call.session) === session);
  const all = [...writes, ...reads.map((call, at) => readOf(session, call, at)), ...forks(session, calls)];
  const order = steps.flatMap(({ turn, count }) =>
    wordsOf(turn, count)
      .slice(1)
      .map((word, at) => [`${turn}:${at}`, word] as const),
  );
  const final = last === undefined ? [] : lastReads(session, last);
  const found = judgeLists([...all, ...final], { order, late });
  return [...found, ...mixedTurns(session, [...turns.values()], final)];
}

const readings = new Set(["view", "transcript", "get"]);

interface Turn {
  readonly turn: string;
  readonly count: number;
  readonly steps: boolean;
  readonly held: boolean;
  readonly asked: number;
  readonly told: number;
  readonly isDone: boolean;
}

/** A turn that is asked for again is the same: it was stored by the first call that was told so. */
function turnsOf(calls: readonly Call[]): Map<string, Turn> {
  const turns = new Map<string, Turn>();
  for (const { turn, does, count, steps, held, asked, told, ok } of calls) {
    if (turn !== undefined && count > 0 && (does === "append" || does === "put")) {
      const known = turns.get(turn);
      turns.set(turn, {
        ...{ turn, count, steps, held },
        asked: Math.min(asked, known?.asked ?? Infinity),
        told: Math.min(ok ? told : Infinity, known?.told ?? Infinity),
        isDone: ok || known?.isDone === true,
      });
    }
  }
  return turns;
}

function wordsOf(turn: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${turn}:${index}`);
}

function writesOf(session: string, { turn, count, steps, asked, told, isDone }: Turn): Transaction[] {
  const outcome = isDone ? "done" : "unknown";
  const appends = wordsOf(turn, count).map((value) => ({ append: session, value }));
  return steps
    ? appends.map((append) => ({ name: append.value, asked, told, outcome, does: [append] }))
    : [{ name: turn, asked, told, outcome, does: appends }];
}

function valuesOf(shown: readonly Word[]): string[] {
  return shown.map(({ turn, index }) => `${turn}:${index}`);
}

/** A view shows late answers with their questions, and is no list in the order in which it was written. */
function readOf(session: string, { does, whole, shown, summed, client, asked, told }: Call, at: number): Transaction {
  const part = does === "view" || (does === "transcript" && !whole);
  const read = { read: session, values: valuesOf(shown), ...(part && { part }) };
  // Summaries may stand for all.
  const isBlind = summed && shown.length === 0;
  const name = `${does} ${at + 1} of ${client}`;
  return { name, asked, told, outcome: "done", does: isBlind ? [] : [read] };
}

/** The reads by copies: a session held what its copy shows, at a moment of the call. */
function forks(session: string, calls: readonly Call[]): Transaction[] {
  return copiesOf(calls).map(({ call, shown, told }) => ({
    name: `copy ${call.into}`,
    asked: call.asked,
    told,
    outcome: "done",
    does: [{ read: session, values: valuesOf(shown), ...(call.upTo !== undefined && { cut: true }) }],
  }));
}

/** A copy with what reads of it showed. It was made by the end of its call, or by the first of these reads. */
export interface Copy {
  readonly call: Call;
  readonly shown: readonly Word[];
  readonly told: number;
}

export function copiesOf(calls: readonly Call[]): Copy[] {
  return calls.flatMap((call) => {
    const reads = call.does !== "fork" ? [] : calls.filter(({ session }) => session === call.into);
    const seen = reads.filter(({ ok, shown }) => ok && shown.length > 0);
    const told = Math.min(call.ok ? call.told : Infinity, ...seen.map((read) => read.told));
    return seen.length === 0 ? [] : [{ call, shown: seen[0]!.shown, told }];
  });
}

function lastReads(session: string, { at, log, view, summed, discarded }: LastRead): Transaction[] {
  const both = { asked: at, told: Infinity, outcome: "done" } as const;
  const values = valuesOf(log);
  const isBlind = summed && view.length === 0;
  return [
    { ...both, name: "the last log", does: [{ read: session, values, ...(discarded > 0 && { part: true }) }] },
    ...(isBlind
      ? []
      : [{ ...both, name: "the last view", does: [{ read: session, values: valuesOf(view), part: true }] }]),
  ];
}

/** Turns that held their session as transactions of their own: none may stand inside another. */
function mixedTurns(session: string, turns: readonly Turn[], final: readonly Transaction[]): Anomaly[] {
  const held = turns.filter((turn) => turn.held);
  const names = new Set(held.map(({ turn }) => turn));
  const [read] = final[0]?.does ?? [];
  if (read === undefined || !("read" in read) || read.part === true || held.length < 2) {
    return [];
  }
  const values = read.values.filter((value) => names.has(value.replace(/:\d+$/, "")));
  const free = { asked: -Infinity, told: Infinity } as const;
  const writes = held.map(({ turn, count }): Transaction => {
    const does = wordsOf(turn, count)
      .filter((value) => values.includes(value))
      .map((value) => ({ append: session, value }));
    return { ...free, name: `held turn ${turn}`, outcome: "unknown", does };
  });
  return judgeLists([...writes, { ...free, name: "the last log", outcome: "done", does: [{ read: session, values }] }]);
}
