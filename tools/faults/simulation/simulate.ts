import { checkRun } from "../checking/check-run.js";
import { figureNames } from "../checking/finding.js";
import { finalLine } from "../journal/final-line.js";
import { readJournal } from "../journal/read-journals.js";
import { judge } from "../second-opinion/judge.js";
import { callsOf, lastOf } from "../second-opinion/journals.js";
import type { Scenario } from "./scenario.js";
import type { SimulatedServer } from "./server.js";
import { Stage, type Left, type Programs } from "./stage.js";
import { enter } from "./virtual-globals.js";
import { Stuck, World } from "./world.js";

/** The outcome of a scenario. */
export interface Outcome {
  /** The findings, a line each: the name of a figure or an anomaly first. */
  readonly findings: readonly string[];
  /** Messages that were acknowledged, as the checker counts them. */
  readonly acknowledged: number;
  /** The same as the second opinion counts them. */
  readonly judgedAgain: number;
  /** Sessions for which the second opinion found no end. */
  readonly undecided: number;
  /** A line for each event, journals included: the same for the same scenario. */
  readonly history: readonly string[];
  /** How many options the schedule had at each of its choices; empty where times decided. */
  readonly options: readonly number[];
}

/** Plays scenarios on a server, one after the other. */
export class Simulator {
  readonly #server: SimulatedServer;
  readonly #programs: Programs;
  readonly #names: ReadonlyMap<string, string>;

  constructor(server: SimulatedServer, programs: Programs) {
    this.#server = server;
    this.#programs = programs;
    this.#names = programs.processes[0]!.scriptNames();
  }

  async play(scenario: Scenario): Promise<Outcome> {
    const world = new World();
    await this.#server.begin(world, this.#names);
    enter(world);
    const stage = new Stage({ world, server: this.#server, programs: this.#programs, scenario });
    try {
      return judged(await stage.play(), world.history);
    } catch (error) {
      const says = error instanceof Stuck ? `hangs: ${error.message}` : `fails: ${String((error as Error).stack)}`;
      const nothing = { acknowledged: 0, judgedAgain: 0, undecided: 0, options: [] };
      return { ...nothing, findings: [says], history: world.history };
    }
  }
}

function judged({ journals, ending, windows, slots, at, options }: Left, history: readonly string[]): Outcome {
  const texts = [...journals].map(([client, lines]) => [client, lines.join("")] as const);
  const inSlots = windows.map(({ from, to, session }) => {
    const slot = session === undefined ? undefined : slots.get(session)!;
    return { from, to, ...(slot !== undefined && { slots: [[slot, slot]] as const }) };
  });
  const calls = texts.flatMap(([client, text]) => readJournal(client, text));
  const verdict = checkRun({ calls, ...ending, windows: inSlots });
  const last = ending.sessions.map((session) => lastOf(JSON.parse(finalLine(session, at)) as never));
  const opinion = judge({
    calls: texts.flatMap(([client, text]) => callsOf(client, text)),
    last: new Map(last.map((read) => [read.session, read])),
    keptUntil: (since, slot) => {
      const touching = inSlots.filter(
        ({ to, slots: own }) => to >= since && (own === undefined || slot === undefined || own[0]?.[0] === slot),
      );
      return Math.min(Infinity, ...touching.map(({ from }) => from));
    },
  });
  const known = new Set<string>(figureNames);
  const found = verdict.findings.filter(({ figure }) => known.has(figure));
  const findings = [
    ...found.map(({ figure, session, says }) => `${figure} in ${session}: ${says}`),
    ...opinion.anomalies.map(({ name, session, says }) => `${name} in ${session} (second opinion): ${says}`),
  ];
  const { length: undecided } = opinion.undecided;
  const final = ending.sessions.map((session) => finalLine(session, at).trimEnd());
  const counts = { acknowledged: verdict.acknowledged, judgedAgain: opinion.acknowledged, undecided };
  return { findings, ...counts, options, history: [...history, ...final, ...findings] };
}
