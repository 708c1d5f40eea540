import { useMemo } from "preact/hooks";
import type { OutlineEntry, SessionState, WhatIf } from "../model/data.js";
import { usageOfRounds, type ModelFact, type SessionUsage } from "../model/facts-of-models.js";
import { rowsOf, type Row } from "../model/row-model.js";
import { cutsOf, viewAt, type Cut } from "../model/timeline.js";
import { SeenAt } from "../model/why-seen.js";
import type { AddressForm } from "./address.js";
import type { SessionModel } from "./session-model.js";

/** The message under the pointer: one of the log, or one in front of the view. */
export interface Selection {
  readonly position?: number;
  readonly place?: number;
}

/** The chosen message in the address. */
export const selectionForm: AddressForm<Selection> = {
  name: "message",
  read: (text = "") => {
    const [, front, number] = /^(front-)?(\d{1,15})$/.exec(text) ?? [];
    return number === undefined ? {} : { [front === undefined ? "position" : "place"]: Number(number) };
  },
  write: ({ position, place }) => (place === undefined ? position?.toString() : `front-${place}`),
};

/** The shown moment in the address: the message that was about to be written; undefined for now. */
export const momentForm: AddressForm<number | undefined> = {
  name: "before",
  read: (text = "") => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  write: (end) => end?.toString(),
};

/** A view's size, where it began in the log, and whether what stands in front of the view now stood there too. */
export interface ViewThere {
  readonly messages: number;
  readonly tokens: number;
  readonly uncounted: number;
  readonly start: number;
  readonly hasFront: boolean;
}

/** A session at the moment that the reader looks at. */
export interface ShownMoment {
  readonly session: SessionState;
  readonly outline: readonly OutlineEntry[];
  readonly base: number;
  readonly cuts: readonly Cut[];
  /** Messages that were stored then. */
  readonly end: number;
  readonly rows: readonly Row[];
  /** For each position the index of its row. */
  readonly rowAt: ReadonlyMap<number, number>;
  readonly seen: SeenAt;
  /** The view's size then. `uncounted` messages at its front are no longer known, and not among the tokens. */
  readonly view: ViewThere;
  /** Tokens of the largest message. */
  readonly largest: number;
  /** The tokens of answers until then, as the provider counted. */
  readonly usage: SessionUsage;
}

/** The moment before message `end` was written; `undefined` stands for now. */
export function useShownMoment(
  model: SessionModel,
  { chosen, models }: { readonly chosen: number | undefined; readonly models: readonly ModelFact[] },
): ShownMoment | undefined {
  const { state, outline, base, isReady, findings } = model;
  const hidden = findings?.hidden;
  return useMemo(() => {
    if (!isReady || state === undefined) {
      return undefined;
    }
    const cuts = cutsOf(state, (position) => outline[position - base]?.at);
    const end = Math.max(base, Math.min(chosen ?? state.next, state.next));
    const rows = rowsOf({ session: state, outline, base, cuts, end });
    const seen = new SeenAt({ session: state, cuts, end, hidden: new Set(hidden) });
    const common = { session: state, outline, base, cuts, end };
    const largest = outline.reduce((most, { tokens }) => Math.max(most, tokens), 1);
    const usage = usageOfRounds(common, models);
    return { ...common, rows, rowAt: rowIndexes(rows), seen, view: viewSize(common), largest, usage };
  }, [state, outline, base, isReady, hidden, chosen, models]);
}

function rowIndexes(rows: readonly Row[]): ReadonlyMap<number, number> {
  const indexes = new Map<number, number>();
  rows.forEach((row, index) => {
    if (row.kind === "message" || row.kind === "step") {
      indexes.set(row.position, index);
    }
    if (row.kind === "step") {
      row.results.forEach((position) => indexes.set(position, index));
    }
  });
  return indexes;
}

function viewSize({
  session,
  outline,
  base,
  cuts,
  end,
}: Omit<ShownMoment, "rows" | "rowAt" | "seen" | "view" | "largest" | "usage">): ViewThere {
  const isNow = end >= session.next;
  const then = viewAt(end, cuts, base);
  const [start, front] = isNow ? [session.start, session.head.length] : [then.start, then.head];
  const inLog = outline.slice(start - base, end - base).reduce((sum, { tokens }) => sum + tokens, 0);
  const knowsHead = front === 0 || then.cut === cuts.at(-1);
  const inFront = knowsHead && front > 0 ? session.head.reduce((sum, { message }) => sum + message.tokens, 0) : 0;
  const uncounted = knowsHead ? 0 : front;
  return {
    messages: front + end - start,
    tokens: inLog + inFront,
    uncounted,
    start,
    hasFront: knowsHead && front > 0,
  };
}

/** Whether a what-if shows a message at the end. */
export function isSeenIn({ seen }: WhatIf, position: number): boolean {
  return seen.some(([first, last]) => position >= first && position <= last);
}
