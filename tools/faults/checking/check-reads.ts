import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText, type Token } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { mayBeRemoved, type SessionCase, type TurnCalls } from "./session-case.js";

/** A read with the newest position that it showed, late answers aside; -1 for none. */
interface DatedRead {
  readonly call: Call;
  readonly tokens: readonly Token[];
  readonly newest: number;
}

/** Checks what clients read: valid views that hold the newest acknowledged turn, and no way back in time. */
export function checkReads(session: SessionCase): Finding[] {
  const reads = session.reads
    .map((call) => {
      const tokens = readRuns(call.answer.runs ?? "");
      return { call, tokens, newest: newestOf(tokens, session) };
    })
    .sort((a, b) => a.call.asked - b.call.asked);
  return [
    ...invalid(session),
    ...behind(session, reads),
    ...backInTime(session, reads),
    ...otherTranscripts(session, reads),
    ...risen(session, reads),
  ];
}

/** A late answer is as old as its question, with which a view shows it, and with which it leaves the view. */
function newestOf(tokens: readonly Token[], { positions, late }: SessionCase): number {
  return tokens.reduce((newest, token) => {
    const text = tokenText(token);
    return late.has(text) ? newest : Math.max(newest, positions.get(text) ?? -1);
  }, -1);
}

/** Views, and what models were sent, that break a rule. */
function invalid({ final, reads, turns }: SessionCase): Finding[] {
  const calls = [...reads, ...[...turns.values()].flatMap((turn) => turn.calls)];
  const found = calls.flatMap(({ do: deed, asked, answer }) =>
    (answer.issues ?? []).length > 0 ? [`${deed} at ${asked} breaks ${answer.issues!.join(", ")}`] : [],
  );
  const last = final.view.issues.length > 0 ? [`the last view breaks ${final.view.issues.join(", ")}`] : [];
  return [...found, ...last].map((says) => ({ figure: "invalidViews", session: final.id, amount: 1, says }) as const);
}

/** Reads that show nothing as new as the newest turn that was acknowledged before them. */
function behind(session: SessionCase, reads: readonly DatedRead[]): Finding[] {
  const acknowledged = [...session.turns.values()]
    .flatMap((turn) => turn.calls.filter(({ ok }) => ok).map((call) => ({ call, turn })))
    .sort((a, b) => a.call.told - b.call.told);
  const isPlain = session.removals.length === 0 && session.windows.length === 0;
  const shown = isPlain ? [] : reads.map(({ call, tokens }) => ({ ...call, tokens, isSummed: isSummed(call) }));
  const views = [...shown, lastView(session.final)];
  const timely = views.flatMap((view) => {
    const missed = missedByTime(session, view, acknowledged);
    const says = `${view.do} of client ${view.client} at ${view.asked} shows nothing as new as turn ${missed?.turn}`;
    return missed === undefined
      ? []
      : [{ figure: "invalidViews", session: session.final.id, amount: 1, says } as const];
  });
  return isPlain ? [...timely, ...behindByPosition(session, reads)] : timely;
}

interface Shown extends Pick<Call, "do" | "client" | "asked" | "told"> {
  readonly tokens: readonly Token[];
  /** True where summaries stand for messages. */
  readonly isSummed: boolean;
}

function lastView({ view }: SessionCase["final"]): Shown {
  const isSummed = view.covered.length > 0;
  return { do: "view", client: "that checks", asked: Infinity, told: Infinity, tokens: view.tokens, isSummed };
}

function isSummed({ answer: { covered = [] } }: Call): boolean {
  return covered.length > 0;
}

/** A turn that was acknowledged before the read, while all that is shown had been acknowledged before it was asked. */
function missedByTime(
  { final, turns, removals, windows, positions }: SessionCase,
  { tokens, asked, told, isSummed }: Shown,
  acknowledged: readonly { readonly call: Call; readonly turn: TurnCalls }[],
): TurnCalls | undefined {
  if (tokens.length === 0 && isSummed) {
    // After a rewind to the view's start, a summary stands for all that is left.
    return undefined;
  }
  const mayBeGone = asked === Infinity || (final.discarded ?? 0) > 0;
  const settled = tokens.map(({ turn }) => Math.max(...(turns.get(turn)?.calls ?? []).map((call) => settledAt(call))));
  const newest = settled.reduce((last, time) => Math.max(last, time), -Infinity);
  for (let at = acknowledged.length - 1; at >= 0; at -= 1) {
    const { call, turn } = acknowledged[at]!;
    // Turns that are not in the last log are counted as lost already, or were discarded.
    const isThere = !mayBeGone || positions.has(tokenText({ turn: turn.turn, index: 0 }));
    const isNewer = isThere && call.told < asked && turn.asked > newest;
    if (isNewer && !mayBeRemoved(removals, call.asked, told, call.told) && !isTouched(windows, call.asked, told)) {
      return turn;
    }
  }
  return undefined;
}

/** When a question can have no effect any more. */
function settledAt({ ok, told }: Call): number {
  return ok ? told : Infinity;
}

/** The same by positions, in sessions where nothing was removed: the greatest so far is enough. */
function behindByPosition(session: SessionCase, reads: readonly DatedRead[]): Finding[] {
  const { final, turns, positions } = session;
  const acknowledged = [...turns.values()]
    .flatMap(({ turn, count, calls }) => {
      const own = Array.from({ length: count }, (_, index) => ({ turn, index }));
      const position = newestOf(own, session);
      const isWhole = positions.has(tokenText(own.at(-1)!));
      return isWhole ? calls.filter(({ ok }) => ok).map((call) => ({ call, turn, position })) : [];
    })
    .sort((a, b) => a.call.told - b.call.told);
  let at = 0;
  let newest = { turn: "", position: -1 };
  return reads.flatMap(({ call, newest: shown }) => {
    for (; at < acknowledged.length && acknowledged[at]!.call.told < call.asked; at += 1) {
      newest = newest.position > acknowledged[at]!.position ? newest : acknowledged[at]!;
    }
    const says = `${call.do} of client ${call.client} at ${call.asked} lacks turn ${newest.turn}`;
    return newest.position <= shown ? [] : [{ figure: "invalidViews", session: final.id, amount: 1, says } as const];
  });
}

/** Reads of one client of which the later shows less. */
function backInTime({ final, removals, windows }: SessionCase, reads: readonly DatedRead[]): Finding[] {
  const before = new Map<string, DatedRead>();
  return reads.flatMap((read) => {
    const { call } = read;
    const last = before.get(call.client);
    before.set(call.client, read);
    const isBack =
      last !== undefined &&
      last.call.told <= call.asked &&
      read.newest < last.newest &&
      !mayBeRemoved(removals, last.call.asked, Infinity) &&
      !isTouched(windows, last.call.asked, Infinity);
    const says = `client ${call.client} read up to ${last?.newest} and then, at ${call.asked}, up to ${read.newest}`;
    return isBack ? [{ figure: "staleReads", session: final.id, amount: 1, says } as const] : [];
  });
}

/** Transcripts that are not what the log began with, in sessions where nothing was removed. */
function otherTranscripts(
  { final, removals, windows, positions }: SessionCase,
  reads: readonly DatedRead[],
): Finding[] {
  if (removals.length > 0) {
    return [];
  }
  const log = final.log.map((token) => token && tokenText(token));
  return reads
    .filter(({ call }) => call.do === "transcript" && !isTouched(windows, call.asked, Infinity))
    .filter(({ tokens }) => {
      const isGone = (token: Token) => (final.discarded ?? 0) > 0 && !positions.has(tokenText(token));
      const kept = tokens.slice(tokens.findIndex((token) => !isGone(token)));
      return tokens.some((token) => !isGone(token)) && kept.some((token, index) => log[index] !== tokenText(token));
    })
    .map(({ call }) => {
      const says = `the transcript of client ${call.client} at ${call.asked} is no beginning of the log`;
      return { figure: "staleReads", session: final.id, amount: 1, says } as const;
    });
}

/** Messages that were shown after a clear had ended them. */
function risen({ final, turns, removals, windows }: SessionCase, reads: readonly DatedRead[]): Finding[] {
  const clears = removals.filter(({ ended, asked }) => ended && !isTouched(windows, asked, Infinity));
  if (clears.length === 0) {
    return [];
  }
  const shown = [
    ...reads.map(({ call, tokens }) => ({ tokens, asked: call.asked, name: `${call.do} at ${call.asked}` })),
    { tokens: final.log.filter((token) => token !== undefined), asked: Infinity, name: "the last log" },
  ];
  return shown.flatMap(({ tokens, asked, name }) => {
    const clear = clears.findLast(({ told }) => told < asked);
    const isGone = ({ turn }: Token) =>
      clear !== undefined && (turns.get(turn)?.calls ?? []).every((call) => call.told < clear.asked && isKnown(call));
    const old = tokens.find((token) => turns.has(token.turn) && isGone(token));
    const says = `${name} shows turn ${old?.turn}, which a clear had ended`;
    return old === undefined ? [] : [{ figure: "staleReads", session: final.id, amount: 1, says } as const];
  });
}

/** True where no copy of the question can be under way any more. */
function isKnown({ ok }: Call): boolean {
  return ok;
}
