import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText, type Token } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { mayBeRemoved, type SessionCase } from "./session-case.js";

/** A read with the newest position that it showed; -1 for none. */
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

function newestOf(tokens: readonly Token[], { positions }: SessionCase): number {
  return tokens.reduce((newest, token) => Math.max(newest, positions.get(tokenText(token)) ?? -1), -1);
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
  const { final, turns, positions, removals, windows } = session;
  const acknowledged = [...turns.values()]
    .flatMap(({ turn, count, calls }) => {
      const position = positions.get(tokenText({ turn, index: count - 1 }));
      return position === undefined ? [] : calls.filter(({ ok }) => ok).map((call) => ({ call, turn, position }));
    })
    .sort((a, b) => a.call.told - b.call.told);
  // Where nothing was removed, the greatest position so far is enough; else all are compared, but for those that may
  // have been removed and written anew, at another position.
  const isPlain = removals.length === 0 && windows.length === 0;
  let at = 0;
  let newest: (typeof acknowledged)[number] | undefined;
  return reads.flatMap(({ call, newest: shown }) => {
    for (; at < acknowledged.length && acknowledged[at]!.call.told < call.asked; at += 1) {
      newest = newest !== undefined && newest.position > acknowledged[at]!.position ? newest : acknowledged[at];
    }
    const missed = isPlain
      ? newest !== undefined && newest.position > shown
        ? newest
        : undefined
      : acknowledged
          .slice(0, at)
          .find(
            (one) =>
              one.position > shown &&
              !mayBeRemoved(removals, one.call.asked, Infinity) &&
              !isTouched(windows, one.call.asked, Infinity),
          );
    const says = `${call.do} of client ${call.client} at ${call.asked} lacks turn ${missed?.turn}`;
    return missed === undefined ? [] : [{ figure: "invalidViews", session: final.id, amount: 1, says } as const];
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
function otherTranscripts({ final, removals, windows }: SessionCase, reads: readonly DatedRead[]): Finding[] {
  if (removals.length > 0) {
    return [];
  }
  const log = final.log.map((token) => token && tokenText(token));
  return reads
    .filter(({ call }) => call.do === "transcript" && !isTouched(windows, call.asked, Infinity))
    .filter(({ tokens }) => tokens.some((token, index) => log[index] !== tokenText(token)))
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
