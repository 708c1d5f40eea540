import { copiesOf } from "./append-only.js";
import type { Call, LastRead, Word } from "./journals.js";
import { linearize, type Operation } from "./linearizable.js";
import type { Anomaly } from "./list-append.js";
import { LogModel, type LogOperation } from "./log-model.js";

const removing = new Set(["rewind", "clear", "replace", "erase"]);

export function isRemoval({ does }: Call): boolean {
  return removing.has(does);
}

/** Answers that say that the call did nothing, or that an earlier try of it did all. */
const refusals = new Set(["unknown_message", "stale"]);

/** The outcome of the search; `undecided` where its budget ended first. */
export interface LogOpinion {
  readonly anomalies: readonly Anomaly[];
  readonly undecided: boolean;
}

/**
 * Judges a session as a log that appends, rewinds and clears change at one moment each, and reads show: there has to be
 * an order of them all. Its entries are turns; only the first message counts where one was written step by step.
 */
export function judgeLog(session: string, calls: readonly Call[], last: LastRead | undefined): LogOpinion {
  const own = calls.filter((call) => call.session === session).sort((a, b) => a.asked - b.asked);
  const counts = new Map(own.flatMap(({ turn, count, steps }) => (turn && count ? [[turn, steps ? 1 : count]] : [])));
  const shows = new Shown(counts as Map<string, number>);
  const reads = [...readsOf(own, last), ...copyReads(calls)].map((read) => shows.operation(read));
  const seen = new Set(reads.flatMap(({ does }) => (does.kind === "read" ? [...does.turns, ...does.besides!] : [])));
  // The removal of a turn, also by a call whose outcome is unknown, takes what stood behind it.
  own.forEach(({ does, turn, replaces }) => seen.add((does === "rewind" ? turn : replaces) ?? ""));
  // A turn that was discarded since is in no read; where a later try was told that it is stored, an earlier one did it.
  own.forEach(({ does, ok, turn }) => seen.add((does === "append" && ok ? turn : undefined) ?? ""));
  const ranks = ranksIn(reads);
  const known = { removals: own.filter(isRemoval), calls: own, seen };
  const writes = own
    .flatMap((call) => writeOf(call, known))
    .filter(isFirstOfItsKind())
    .map((write) => ({
      ...write,
      rank: "turn" in write.does ? (ranks.get(write.does.turn) ?? ranks.size) : ranks.size,
    }));
  const discards = mayDiscard(own, last);
  const result = shows.anomalies.length > 0 ? undefined : linearize([...writes, ...reads], new LogModel({ discards }));
  const stuck = result?.verdict === "not linearizable" ? [{ name: "not-linearizable", says: words(result.at) }] : [];
  return { anomalies: [...shows.anomalies, ...stuck], undecided: result?.verdict === "undecided" };
}

/** True if messages may be gone by retention: the last read of a cleared session does not tell of earlier ones. */
function mayDiscard(own: readonly Call[], last: LastRead | undefined): boolean {
  const isTold = last !== undefined && !own.some(({ does }) => does === "clear" || does === "erase");
  return isTold ? last.discarded > 0 : !own.some(({ whole }) => whole);
}

type Write = Omit<Operation<LogOperation>, "rank">;

interface ReadOf {
  readonly name: string;
  readonly asked: number;
  readonly told: number;
  readonly shows: "whole" | "end" | "beginning" | "part";
  readonly shown: readonly Word[];
  readonly summed: boolean;
}

function readsOf(calls: readonly Call[], last: LastRead | undefined): ReadOf[] {
  const reads = calls
    .filter(({ ok, does }) => ok && (does === "view" || does === "transcript"))
    .map(({ does, client, whole, ...rest }) => {
      const shows = whole ? "whole" : does === "view" ? "part" : "end";
      return { ...rest, name: `${does} of ${client}`, shows } as const;
    });
  const both = { asked: last?.at ?? 0, told: Infinity };
  return last === undefined
    ? reads
    : [
        ...reads,
        { ...both, name: "the last log", shows: last.discarded > 0 ? "end" : "whole", shown: last.log, summed: false },
        { ...both, name: "the last view", shows: "part", shown: last.view, summed: last.summed },
      ];
}

/** A copy is a read of the session that it was made of. */
function copyReads(calls: readonly Call[]): ReadOf[] {
  const isKept = calls.some(({ whole }) => whole) && calls.every(({ does, whole }) => does !== "transcript" || whole);
  return copiesOf(calls)
    .filter(({ call }) => isKept || call.upTo === undefined)
    .map(({ call, shown, told }) => {
      const shows = call.upTo !== undefined ? "beginning" : isKept ? "whole" : "end";
      return { name: `copy ${call.into}`, asked: call.asked, told, shows, shown, summed: false };
    });
}

/** Makes turns of the messages that were shown, and notes where a turn is in pieces. */
class Shown {
  readonly anomalies: Anomaly[] = [];
  /** Messages of each turn; 1 for those that were written step by step. */
  readonly #counts: ReadonlyMap<string, number>;

  constructor(counts: ReadonlyMap<string, number>) {
    this.#counts = counts;
  }

  operation({ name, asked, told, shows, shown, summed }: ReadOf): Operation<LogOperation> {
    const isWhole = shows === "whole" || shows === "beginning";
    const isFollowed = ({ turn, index }: Word) => this.#counts.get(turn) !== 1 || index === 0;
    const followed = shown.filter(isFollowed);
    const besides = new Set(shown.filter((word) => !isFollowed(word)).map(({ turn }) => turn));
    const turns: string[] = [];
    followed.forEach(({ turn, index }, at) => {
      const before = followed[at - 1];
      const isNew = before?.turn !== turn;
      if (!this.#counts.has(turn)) {
        this.#note("unwritten", `${name} at ${asked} shows turn ${turn}, which nobody wrote`);
      } else if (isNew && isWhole && index !== 0) {
        this.#note("fractured", `${name} at ${asked} shows turn ${turn} without its beginning`);
      } else if (!isNew && (isWhole ? index !== before!.index + 1 : index <= before!.index)) {
        this.#note("fractured", `${name} at ${asked} shows turn ${turn} in another order`);
      }
      turns.push(...(isNew ? [turn] : []));
    });
    this.#ends(followed, { name, asked, shows });
    if (new Set(turns).size < turns.length) {
      this.#note("duplicate", `${name} at ${asked} shows a turn twice`);
    }
    return { asked, told, maybe: false, rank: 0, does: { kind: "read", shows, turns, besides, summed } };
  }

  /** A whole read shows the end of every turn, a view that of the newest, and a beginning may end inside of one. */
  #ends(followed: readonly Word[], { name, asked, shows }: Pick<ReadOf, "name" | "asked" | "shows">): void {
    followed.forEach(({ turn, index }, at) => {
      const isLast = at === followed.length - 1;
      const hasEnd = shows === "part" ? isLast : shows === "beginning" ? !isLast : true;
      if (hasEnd && followed[at + 1]?.turn !== turn && index + 1 < (this.#counts.get(turn) ?? 0)) {
        this.#note("fractured", `${name} at ${asked} shows turn ${turn} without its end`);
      }
    });
  }

  #note(name: string, says: string): void {
    this.anomalies.push({ name, says });
  }
}

/** In which order the turns were seen: they were probably stored in it. */
function ranksIn(reads: readonly Operation<LogOperation>[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const { does } of [...reads].sort((a, b) => a.told - b.told || a.asked - b.asked)) {
    const turns = does.kind === "read" ? does.turns : [];
    turns.forEach((turn) => ranks.set(turn, ranks.get(turn) ?? ranks.size));
  }
  return ranks;
}

/** The effect of a call on the log, once or, where something was removed meanwhile, by a second try once more. */
function writeOf(
  call: Call,
  known: { readonly removals: readonly Call[]; readonly calls: readonly Call[]; readonly seen: ReadonlySet<string> },
): Write[] {
  const { removals, calls, seen } = known;
  const does = effectOf(call);
  const isUnseen = !call.ok && call.turn !== undefined && call.does === "append" && !seen.has(call.turn);
  if (does === undefined || isUnseen) {
    return [];
  }
  const { asked, ok, error } = call;
  const isKnown = call.does !== "erase" || calls.some((other) => isOwnerBefore(other, call));
  const told = ok || refusals.has(error) ? call.told : Infinity;
  const isAgain =
    does.kind !== "rewind" && removals.some((other) => other !== call && other.asked < call.told && other.told > asked);
  const once = { asked, told, maybe: !ok || !isKnown, does };
  const again = does.kind === "append" ? { ...does, again: true } : does;
  return isAgain || call.does === "erase" ? [once, { ...once, maybe: true, does: again }] : [once];
}

/** A filter of effects that may come at any time from some moment on: the first of a kind stands for the others. */
function isFirstOfItsKind(): (write: Write) => boolean {
  const known = new Set<string>();
  return ({ maybe, told, does }) => {
    const kind = JSON.stringify(does);
    const isKnown = maybe && told === Infinity && known.has(kind);
    known.add(maybe && told === Infinity ? kind : "");
    return !isKnown;
  };
}

function effectOf({ does, turn, replaces }: Call): LogOperation | undefined {
  switch (does) {
    case "append":
      return { kind: "append", turn: turn! };
    case "replace":
      return { kind: "replace", turn: turn!, from: replaces! };
    case "rewind":
      return { kind: "rewind", from: turn! };
    case "clear":
    case "erase":
      return { kind: "clear" };
    default:
      return undefined;
  }
}

/** An erasure leaves sessions alone that are not the owner's. */
function isOwnerBefore({ ok, does, owner, told }: Call, erasure: Call): boolean {
  return ok && (does === "append" || does === "replace") && owner === erasure.owner && told < erasure.asked;
}

function words({ does, asked }: Operation<LogOperation>): string {
  const what = does.kind === "read" ? `a read of turns ${does.turns.slice(-5).join(", ")}` : JSON.stringify(does);
  return `no order of the calls allows ${what}, asked at ${asked}`;
}
