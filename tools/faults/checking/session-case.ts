import type { Call } from "../journal/read-journals.js";
import type { Coverage } from "../journal/coverage.js";
import { tokenText, type Token } from "../journal/runs.js";
import type { FailoverWindow } from "./failover-windows.js";

/** The contents of a session when all was over. */
export interface FinalSession {
  readonly id: string;
  readonly slot?: number;
  /** The place of each message in its turn, oldest first; undefined for one that could not be read. */
  readonly log: readonly (Token | undefined)[];
  /** Records before those of the log, which retention has discarded. */
  readonly discarded?: number;
  readonly view: FinalView;
  readonly damaged: boolean;
  /** True where Redis evicted one of its keys, and `rebuild()` made it of what was left. */
  readonly wasRebuilt?: boolean;
  /** When each of its keys expires, in milliseconds; -1 for never. Left out where that was not looked at. */
  readonly expiries?: readonly number[];
  /** Keys of the session in Redis; left out where that was not looked at. */
  readonly keys?: number;
}

export interface FinalView {
  /** The position in the log from which the view shows it. */
  readonly start: number;
  /** Messages before it that are not summaries. */
  readonly head: readonly Token[];
  readonly covered: readonly Coverage[];
  readonly tokens: readonly Token[];
  readonly issues: readonly string[];
}

/** A turn with all that was asked for it. */
export interface TurnCalls {
  readonly turn: string;
  readonly count: number;
  readonly waits: boolean;
  /** True where it was written step by step. */
  readonly steps: boolean;
  /** When it was asked for first. */
  readonly asked: number;
  readonly calls: readonly Call[];
}

/** A rewind or a clear that may have removed messages at any moment from `asked` to `told`. */
export interface Removal {
  readonly asked: number;
  /** Infinity where the outcome is unknown. */
  readonly told: number;
  /** The turn that took the place of what was removed. */
  readonly by?: string;
  /** Messages that were stored before this moment stay. */
  readonly since: number;
  /** True for a clear or an erasure that is known to have been made. */
  readonly ended: boolean;
}

/** The whole evidence on one session. */
export interface SessionCase {
  readonly final: FinalSession;
  readonly turns: ReadonlyMap<string, TurnCalls>;
  readonly reads: readonly Call[];
  readonly removals: readonly Removal[];
  readonly windows: readonly FailoverWindow[];
  /** Position of each token in the final log; of the first where there are several. */
  readonly positions: ReadonlyMap<string, number>;
  /** Tokens that stand behind others' messages, while their turn begins before those; views show them with it. */
  readonly late: ReadonlySet<string>;
}

/** True for a question that stores a turn. */
export function isWrite({ do: deed }: Call): boolean {
  return deed === "append" || deed === "replace";
}

/** Brings together what is known of a session; `calls` are those that name it. */
export function sessionCase(
  final: FinalSession,
  { calls, windows }: { readonly calls: readonly Call[]; readonly windows: readonly FailoverWindow[] },
): SessionCase {
  const turns = turnsOf(calls.filter(isWrite));
  const positions = new Map<string, number>();
  final.log.forEach((token, position) => {
    if (token !== undefined && !positions.has(tokenText(token))) {
      positions.set(tokenText(token), position);
    }
  });
  return {
    ...{ final, turns, windows, positions, late: lateIn(turns, positions) },
    reads: calls.filter((call) => call.ok && (call.do === "view" || call.do === "transcript")),
    removals: calls.flatMap((call) => removalOf(call, turns, calls) ?? []),
  };
}

function lateIn(turns: ReadonlyMap<string, TurnCalls>, positions: ReadonlyMap<string, number>): Set<string> {
  const late = new Set<string>();
  for (const { turn, count, steps } of turns.values()) {
    let offset: number | undefined;
    for (let index = 0; steps && index < count; index += 1) {
      const text = tokenText({ turn, index });
      const position = positions.get(text);
      offset ??= position === undefined ? undefined : position - index;
      if (position !== undefined && position - index !== offset) {
        late.add(text);
      }
    }
  }
  return late;
}

/** True if a removal may have taken effect in a time and concern what was stored by its end. */
export function mayBeRemoved(removals: readonly Removal[], from: number, to: number, stored = to): boolean {
  return removals.some(({ asked, told, since }) => told > from && asked < to && stored >= since);
}

function turnsOf(appends: readonly Call[]): Map<string, TurnCalls> {
  const byTurn = new Map<string, Call[]>();
  for (const call of appends) {
    const known = byTurn.get(call.turn!);
    if (known === undefined) {
      byTurn.set(call.turn!, [call]);
    } else {
      known.push(call);
    }
  }
  const turns = [...byTurn].map(([turn, calls]) => {
    const { count = 0, waits = false, steps = false } = calls[0]!;
    return [turn, { turn, count, waits, steps, calls, asked: Math.min(...calls.map(({ asked }) => asked)) }] as const;
  });
  return new Map(turns);
}

/** Refusals that say that nothing was done, or that it was done by a try whose reply was lost. */
const refusals = new Set(["unknown_message", "stale"]);

const removing = new Set(["rewind", "clear", "replace", "erase"]);

function removalOf(call: Call, turns: ReadonlyMap<string, TurnCalls>, calls: readonly Call[]): Removal | undefined {
  const { do: deed, asked, turn, replaces, ok, answer } = call;
  if (!removing.has(deed)) {
    return undefined;
  }
  const isOver = ok || refusals.has(answer.error ?? "");
  const named = deed === "replace" ? replaces : turn;
  const isWhole = deed === "clear" || deed === "erase";
  const since = isWhole ? -Infinity : (turns.get(named!)?.asked ?? -Infinity);
  const by = deed === "replace" ? { by: turn! } : {};
  const ended = ok && (deed === "clear" || (deed === "erase" && isOwned(calls, call)));
  return { asked, told: isOver ? call.told : Infinity, since, ended, ...by };
}

/** True where a session was its owner's when the erasure of that owner began: other sessions are left alone. */
export function isOwned(calls: readonly Call[], { owner, asked }: Call): boolean {
  return calls.some((call) => call.ok && isWrite(call) && call.owner === owner && call.told < asked);
}
