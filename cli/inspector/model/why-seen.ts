import { counted, secondOf, sizeOf } from "./figures-in-words.js";
import type { RowRole, SessionState, SummaryRow } from "./data.js";
import { leftAt, viewAt, type Cut } from "./timeline.js";

/**
 * The state of a message: the log's part of the view shows it (`seen`); it stands in front of the view, as it is
 * (`front`) or shortened (`changed`); its result is hidden, because its call is not in the view (`hidden`); it left the
 * view, and a summary covers it (`summarized`) or none does (`left`); it cannot be read; or it was not said yet.
 */
export type SeenState = "seen" | "front" | "changed" | "hidden" | "summarized" | "left" | "unreadable" | "later";

/** The state of a message, in words. */
export interface Why {
  readonly state: SeenState;
  /** In two or three words. */
  readonly label: string;
  readonly headline: string;
  readonly reasons: readonly string[];
  /** The summary that covers it, as a place in the head. */
  readonly summary?: number;
}

/** A moment of a session. */
export interface Moment {
  readonly session: SessionState;
  readonly cuts: readonly Cut[];
  /** Messages that were stored then. */
  readonly end: number;
  /** Positions of results that are hidden from the model now. */
  readonly hidden: ReadonlySet<number>;
}

/** Looks up many messages of one moment; each in the time that a few look-ups take. */
export class SeenAt {
  readonly #moment: Moment;
  readonly #start: number;
  readonly #heads: ReadonlyMap<number, boolean>;
  /** True where what stands in front of the view is known: after the last reduction. */
  readonly #knowsHead: boolean;

  constructor(moment: Moment) {
    const { session, cuts, end } = moment;
    const { cut, start } = viewAt(end, cuts, session.base);
    this.#moment = moment;
    this.#knowsHead = cut === cuts.at(-1);
    this.#start = end >= session.next ? session.start : start;
    const head = this.#knowsHead ? session.head : [];
    const entries = head.map(({ position, changed }) => [position ?? -1, changed === true] as const);
    this.#heads = new Map(entries);
  }

  /** The state of the message at this position. */
  stateOf(position: number, role: RowRole): SeenState {
    const { end, hidden } = this.#moment;
    if (position >= end || role === "unreadable") {
      return role === "unreadable" ? "unreadable" : "later";
    }
    if (position >= this.#start) {
      return this.#isNow && hidden.has(position) ? "hidden" : "seen";
    }
    const changed = this.#heads.get(position);
    if (changed !== undefined) {
      return changed ? "changed" : "front";
    }
    return this.#summaryOf(position, role) === undefined ? "left" : "summarized";
  }

  /** The same in words. */
  why(position: number, role: RowRole): Why {
    const state = this.stateOf(position, role);
    const what = this.#isNow ? "The model" : `At message ${this.#moment.end}, the model`;
    const words = wordsOf[state](what);
    const summary = state === "summarized" ? this.#summaryOf(position, role) : undefined;
    const isGone = state === "summarized" || state === "left";
    const reasons = isGone ? [this.#cutSentence(position), this.#summarySentence(summary)] : words.reasons;
    return { state, ...words, reasons, ...(summary && { summary: summary.place }) };
  }

  get #isNow(): boolean {
    return this.#moment.end >= this.#moment.session.next;
  }

  #summaryOf(position: number, role: RowRole): SummaryRow | undefined {
    if (!this.#knowsHead || role === "system" || role === "summary") {
      return undefined;
    }
    return this.#moment.session.summaries.find(({ first = 0, last }) => {
      return last !== undefined && position >= first && position <= last;
    });
  }

  #cutSentence(position: number): string {
    const { session, cuts, end } = this.#moment;
    const cut = leftAt(position, end, cuts);
    if (cut === undefined) {
      return "It left the view in a reduction that the session no longer remembers.";
    }
    const { number, at, before, after } = cut;
    const isOlder = session.reductionCount > session.reductions.length && cut === cuts[0];
    const which = isOlder ? `at reduction ${number} or one before it` : `at reduction ${number}`;
    const when = `${which} of ${session.reductionCount}, on ${secondOf(at)} (UTC)`;
    return `It left the view ${when}: the view held ${sizeOf(before)} and was cut to ${sizeOf(after)}.`;
  }

  #summarySentence(summary: SummaryRow | undefined): string {
    if (summary !== undefined) {
      const others =
        summary.count === undefined ? "" : `, together with ${counted(summary.count - 1, "other message")}`;
      return `A summary covers it${others}: the model reads that summary in its place.`;
    }
    return this.#knowsHead
      ? "No summary covers it, so the model knows nothing of it."
      : "What a summary said at that time is not kept.";
  }
}

type Words = Pick<Why, "label" | "headline" | "reasons">;

const wordsOf: Readonly<Record<SeenState, (model: string) => Words>> = {
  seen: (model) => ({
    label: "in the view",
    headline: `${model} sees this message.`,
    reasons: ["No reduction has removed it: it is in the view as it was stored."],
  }),
  front: (model) => ({
    label: "kept in front",
    headline: `${model} sees this message.`,
    reasons: [
      "The messages around it left the view, and the reducer kept this one in front: a system message, or the " +
        "request that what follows is about.",
    ],
  }),
  changed: (model) => ({
    label: "shortened",
    headline: `${model} sees a shortened form of this message.`,
    reasons: ["The reducer replaced it with a shorter one. What was stored first is shown here."],
  }),
  hidden: (model) => ({
    label: "hidden",
    headline: `${model} does not see this message.`,
    reasons: ["It is a tool result whose call is not in the view; providers refuse such results, so it is left out."],
  }),
  summarized: (model) => ({ label: "in a summary", headline: `${model} no longer sees this message.`, reasons: [] }),
  left: (model) => ({ label: "left the view", headline: `${model} no longer sees this message.`, reasons: [] }),
  unreadable: (model) => ({
    label: "unreadable",
    headline: `${model} does not see this message.`,
    reasons: ["Its record in Redis cannot be read. The rest of the session does not suffer from it."],
  }),
  later: () => ({
    label: "not yet said",
    headline: "This message was not written yet.",
    reasons: ["Move the time to a later message to see it."],
  }),
};
