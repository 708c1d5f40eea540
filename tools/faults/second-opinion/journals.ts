import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A message: the turn that it belongs to, and its number in that turn. */
export interface Word {
  readonly turn: string;
  readonly index: number;
}

/** A client's request to a session or a thread, and the reply. */
export interface Call {
  readonly client: string;
  readonly does: string;
  readonly asked: number;
  /** Infinity where no answer came. */
  readonly told: number;
  readonly ok: boolean;
  readonly error: string;
  readonly session: string;
  readonly thread: string | undefined;
  readonly turn: string | undefined;
  readonly count: number;
  readonly steps: boolean;
  readonly held: boolean;
  readonly owner: string | undefined;
  readonly replaces: string | undefined;
  readonly into: string | undefined;
  readonly upTo: number | undefined;
  /** True for a read of a session of which every read shows all. */
  readonly whole: boolean;
  readonly shown: readonly Word[];
  readonly summed: boolean;
}

/** The contents of a session when all was over. */
export interface LastRead {
  readonly session: string;
  readonly at: number;
  readonly slot: number | undefined;
  readonly discarded: number;
  readonly log: readonly Word[];
  readonly view: readonly Word[];
  readonly summed: boolean;
}

/** The journals in the folder of a run. */
export interface Journals {
  readonly calls: readonly Call[];
  /** The last read of each session; empty for runs that did not write it down. */
  readonly last: ReadonlyMap<string, LastRead>;
  /**
   * From when on Redis did not promise any more to keep what it had acknowledged of a session that began at a time;
   * Infinity where always.
   */
  readonly keptUntil: (since: number, slot: number | undefined) => number;
}

/** Reads the journals of a run: `client-*.jsonl`, `final.jsonl` and `faults.jsonl`. */
export function readFolder(folder: string): Journals {
  const names = readdirSync(folder).filter((name) => /^client-.*\.jsonl$/.test(name));
  const file = (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "");
  const calls = names.sort().flatMap((name) => callsOf(name.slice("client-".length, -".jsonl".length), file(name)));
  const last = lines(file("final.jsonl")).map(lastOf);
  return {
    calls,
    last: new Map(last.map((read) => [read.session, read])),
    keptUntil: keeping(lines(file("faults.jsonl"))),
  };
}

/** The calls of one journal. */
export function callsOf(client: string, text: string): Call[] {
  const asks = new Map<unknown, Line>();
  const answers = new Map<unknown, Line>();
  for (const line of lines(text)) {
    ("ask" in line ? asks : answers).set(line["ask"] ?? line["told"], line);
  }
  return [...asks].map(([number, ask]) => {
    const answer = answers.get(number);
    return {
      client,
      does: text1(ask["do"]) ?? "",
      asked: Number(ask["at"]),
      told: answer === undefined ? Infinity : Number(answer["at"]),
      ok: answer?.["ok"] === true,
      error: text1(answer?.["error"]) ?? "",
      session: text1(ask["session"]) ?? "",
      thread: text1(ask["thread"]),
      turn: text1(ask["turn"]),
      count: Number(ask["count"] ?? 0),
      steps: ask["steps"] === true,
      held: ask["held"] === true,
      owner: text1(ask["owner"]),
      replaces: text1(ask["replaces"]),
      into: text1(ask["into"]),
      upTo: ask["upTo"] === undefined ? undefined : Number(ask["upTo"]),
      whole: ask["whole"] === true,
      shown: words(text1(answer?.["runs"]) ?? ""),
      summed: Array.isArray(answer?.["covered"]),
    };
  });
}

export type Line = Readonly<Record<string, unknown>>;

/** The last line of a process that was killed may be cut off. */
function lines(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}

/** The last read in a line of `final.jsonl`. */
export function lastOf(line: Line): LastRead {
  return {
    session: String(line["session"]),
    at: Number(line["at"]),
    slot: line["slot"] === undefined ? undefined : Number(line["slot"]),
    discarded: Number(line["discarded"] ?? 0),
    log: words(String(line["log"])),
    view: words(String(line["view"])),
    summed: line["summed"] === true,
  };
}

/** `3.0.17:0-2` stands for the first three messages of turn 3.0.17. */
function words(runs: string): Word[] {
  return (runs.match(/\S+/g) ?? []).flatMap((run) => {
    const [, turn = run, first = "0", last = first] = /^(.*):(\d+)-(\d+)$/.exec(run) ?? [];
    const count = Number(last) - Number(first) + 1;
    return Array.from({ length: count }, (_, at) => ({ turn, index: Number(first) + at }));
  });
}

function text1(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const second = 1_000_000;
/** How long a promotion is in coming, and how much older what a replica lacks can be. */
const before = 8 * second;
/** How long the old master may still take what is lost. */
const after = 9 * second;

/** A replica that takes over may lack what was acknowledged shortly before the fault that made it take over. */
function keeping(faults: readonly Line[]): Journals["keptUntil"] {
  const heavy = faults.filter((fault) => fault["heavy"] === true);
  const promotions = faults.flatMap(({ promotion }) => (promotion === undefined ? [] : [promotion as Line]));
  const times = promotions.map((promotion) => {
    const at = Number(promotion["at"]);
    const around = heavy.filter(({ from, to }) => Number(from) <= at + second && Number(to) >= at - second);
    const from = Math.min(at - before, ...around.map((fault) => Number(fault["from"]) - 2 * second));
    const to = Math.max(at + after, ...around.map((fault) => Number(fault["to"]) + 2 * second));
    return { from, to, slots: promotion["slots"] as readonly (readonly [number, number])[] | undefined };
  });
  return (since, slot) => {
    const touching = times.filter(
      ({ to, slots }) =>
        to >= since && (slot === undefined || slots === undefined || slots.some(([a, b]) => a <= slot && slot <= b)),
    );
    return Math.min(Infinity, ...touching.map(({ from }) => from));
  };
}
