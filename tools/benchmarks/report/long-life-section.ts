import type { Sample } from "../measure/life-signs.js";
import { quantile } from "../measure/statistics.js";
import type { WorkCounts } from "../setting/long-lived-sessions.js";
import { digits, whole } from "./format.js";
import type { Section, Target } from "./section.js";

/** What a long life showed; the last sample was taken after all sessions had expired. */
export interface LongLife {
  readonly samples: readonly Sample[];
  readonly counts: WorkCounts;
  readonly events: ReadonlyMap<string, number>;
  readonly warnings: number;
  readonly atOnce: number;
  readonly sessions: number;
  readonly sessionTTL: number;
}

/** Parts of the run that are compared: caches are full after the first. */
const parts = { early: [0.2, 0.4], late: [0.8, 1] } as const;
/** Allowed growth from the early part to the late one. */
const allowed = 1.1;

interface Figure {
  readonly name: string;
  readonly of: (sample: Sample) => number;
  readonly unit: string;
  /** Share of the samples of a part that are below what is compared: the median, or all. */
  readonly quantile?: number;
}

const figures: readonly Figure[] = [
  // V8 gives memory back when it likes, so the size goes up and down; what counts is how high.
  { name: "resident memory, highest", of: ({ resident }) => resident / 1e6, unit: " MB", quantile: 1 },
  { name: "heap after a collection", of: ({ heap }) => heap / 1e6, unit: " MB" },
  // How many sessions are there at a time depends on how fast the machine makes them.
  { name: "memory of Redis, a key", of: ({ redis }) => redis.bytes / Math.max(1, redis.keys), unit: " B" },
  { name: "connections of the process", of: ({ redis }) => redis.clients, unit: "" },
  { name: "delay of the event loop, median", of: ({ delay }) => delay.median, unit: " ms" },
  { name: "delay of the event loop, p99", of: ({ delay }) => delay.p99, unit: " ms" },
];
/** How much a figure may grow at most to count as flat; delays depend on what else the machine does. */
const judged = figures.filter(({ unit }) => unit !== " ms");

/** The page on a long life. */
export function longLifeSection(life: LongLife): Section {
  const running = life.samples.slice(0, -1);
  const after = life.samples.at(-1)!;
  const { counts, events } = life;
  const turns = running.at(-1)?.turns ?? 0;
  const seconds = running.at(-1)?.seconds ?? 0;
  const rows = figures.map((figure) => {
    const { name, of, unit } = figure;
    const [early, late] = [figureIn(running, parts.early, figure), figureIn(running, parts.late, figure)];
    const highest = Math.max(...running.map(of));
    const show = (value: number) => `${digits(value)}${unit}`;
    return [name, show(early), show(late), `${digits(late / early)} ×`, show(highest), show(of(after))];
  });
  return {
    title: "A long life",
    about:
      `One process, ${whole(turns)} turns over ${whole(life.sessions)} sessions in ${whole(seconds)} s, ` +
      `${life.atOnce} at once; ` +
      `each turn reads the view and writes what it adds (${whole(counts.messages)} messages in all), one in ` +
      `ten through \`withRedisMemory\`, and ${whole(counts.pages)} read a page besides. Half of the sessions are ` +
      "reduced by a count of messages, half by tokens. A session has its turns and then expires " +
      `${life.sessionTTL} s after the last; ${whole(after.redis.expired)} keys expired. Medians of ` +
      `${running.length} samples: from 20 to 40 % of the run, when the caches are full, and of its last fifth. ` +
      "Events: " +
      `${[...events].map(([type, count]) => `${whole(count)} ${type}`).join(", ")}. ` +
      `Warnings of Node.js: ${life.warnings}.`,
    tables: [
      {
        title: "From the second fifth to the last",
        head: ["", "20–40 %", "80–100 %", "ratio", "highest", "after all had expired"],
        rows,
      },
    ],
    targets: [
      ...judged.map((figure) =>
        flat(figure.name, figureIn(running, parts.late, figure) / figureIn(running, parts.early, figure)),
      ),
      { what: "warnings of Node.js", wanted: "0", got: String(life.warnings), holds: life.warnings === 0 },
      {
        what: "keys left after all sessions had expired",
        wanted: "0",
        got: whole(after.redis.keys),
        holds: after.redis.keys === 0,
      },
    ],
  };
}

function figureIn(samples: readonly Sample[], [from, to]: readonly [number, number], figure: Figure): number {
  const part = samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length));
  return quantile(part.map(figure.of), figure.quantile ?? 0.5);
}

function flat(name: string, ratio: number): Target {
  return {
    what: `${name}, last fifth against second`,
    wanted: `≤ ${allowed} ×`,
    got: `${digits(ratio)} ×`,
    holds: ratio <= allowed,
  };
}
