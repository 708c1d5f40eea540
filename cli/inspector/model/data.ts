/** The JSON that the inspector's server sends to its page. Server and page share no code but this folder. */

import type { ModelFact } from "./facts-of-models.js";

/** Orders of the list: by the last write, or by the number of messages. */
export type SessionOrder = "newest" | "oldest" | "longest";

/** A session in the list. */
export interface SessionRow {
  readonly sessionId: string;
  readonly owner?: string;
  readonly title?: string;
  /** True where the title is encrypted with a key that is not at hand. */
  readonly locked?: boolean;
  /** True where Redis lost a part of it. */
  readonly damaged?: boolean;
  readonly messages: number;
  readonly rounds: number;
  readonly updatedAt: number;
}

/** Sessions that match a search, in the order that was asked for. */
export interface SessionRows {
  readonly sessions: readonly SessionRow[];
  readonly matching: number;
  /** Sessions that were looked through. */
  readonly known: number;
  /** False where Redis holds more sessions than are looked through. */
  readonly complete: boolean;
}

/** A size of the view. */
export interface ViewFigures {
  readonly messages: number;
  readonly tokens?: number;
}

/** A reduction as the session remembers it. */
export interface ReductionRow {
  readonly at: number;
  readonly start: number;
  readonly head: number;
  readonly before: ViewFigures;
  readonly after: ViewFigures;
  /** The reducer's limit of the view. */
  readonly maxTokens?: number;
}

/** The range of a summary in front of the view. Positions are left out where the messages are no longer stored. */
export interface SummaryRow {
  /** Its place in the head. */
  readonly place: number;
  readonly count?: number;
  readonly first?: number;
  readonly last?: number;
}

/** A message that the model sees in front of the log. */
export interface HeadRow {
  readonly message: ShownMessage;
  /** The position in the log of the message of the same id. */
  readonly position?: number;
  /** True where its text is not that of the log: a reducer shortened it. */
  readonly changed?: boolean;
}

/** An open session, without its messages. */
export interface SessionState {
  readonly sessionId: string;
  readonly owner?: string;
  readonly title?: string;
  /** Changes whenever messages of the log were removed or replaced: what was read of it is then worth nothing. */
  readonly edition: string;
  /** Positions: the oldest stored message, the first that the view shows as it is, the one that comes next. */
  readonly base: number;
  readonly start: number;
  readonly next: number;
  readonly rounds: number;
  readonly head: readonly HeadRow[];
  readonly summaries: readonly SummaryRow[];
  /** The last reductions, oldest first, and how many there were in all. */
  readonly reductions: readonly ReductionRow[];
  readonly reductionCount: number;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly expiresAt?: number;
  /** The parts that Redis lost, and the remedy; left out where nothing is lost. */
  readonly damage?: string;
}

/** Who speaks, in one word. */
export type RowRole = "system" | "summary" | "human" | "ai" | "tool" | "other" | "unreadable";

/** The provider's counts for an answer. */
export interface AnswerUsage {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Tokens of the input that came from the provider's cache. */
  readonly cached: number;
}

/** The outline of an open session: an entry for each message. */
export interface OutlineEntry {
  readonly role: RowRole;
  /** As of o200k_base. */
  readonly tokens: number;
  readonly at?: number;
  /** Length of the stored record. */
  readonly size: number;
  /** Names of the tools that it calls. */
  readonly calls?: readonly string[];
  /** Position of the message that called for this result, if nothing but results stands between them. */
  readonly caller?: number;
  /** The part in front of the messages that the answer with bound thoughts before this one did not have. */
  readonly brokenBy?: "system" | "tools";
  /** Left out where the message does not say it. */
  readonly usage?: AnswerUsage;
}

/** A part of the outline. */
export interface OutlinePage {
  readonly edition: string;
  readonly from: number;
  readonly entries: readonly OutlineEntry[];
  /** The position behind the last message of the session. */
  readonly next: number;
}

/** Kinds of content besides text. */
export type MediaKind = "image" | "audio" | "video" | "file";

/** A piece of what a message says. Texts are cut; `length` is that of the whole. JSON has a line for each value. */
export type ShownPart =
  | { readonly kind: "text" | "reasoning"; readonly text: string; readonly length: number }
  /** A picture, recording, film or file; `url` holds its data where a browser can show or play it. */
  | { readonly kind: "media"; readonly what: MediaKind; readonly text: string; readonly url?: string }
  | { readonly kind: "json" | "other"; readonly what: string; readonly text: string; readonly length: number };

/** A call that a message makes. */
export interface ShownCall {
  readonly id?: string;
  readonly name: string;
  readonly args: string;
  readonly length: number;
  /** False where the arguments are no object, and not laid out as JSON. */
  readonly readable: boolean;
}

/** A message as the page shows it. All texts are plain text, with control characters written out. */
export interface ShownMessage {
  readonly position?: number;
  readonly role: RowRole;
  /** The message's own word for its role. */
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly at?: number;
  readonly tokens: number;
  readonly parts: readonly ShownPart[];
  readonly calls: readonly ShownCall[];
  /** Id of the call that it answers. */
  readonly answers?: string;
  readonly status?: string;
  /** Usage, metadata and the like, as JSON. */
  readonly details?: string;
  /** Why the record cannot be read. */
  readonly problem?: string;
}

/** A page of messages. */
export interface MessagePage {
  readonly edition: string;
  readonly messages: readonly ShownMessage[];
}

/** A piece of a long text. */
export interface TextPiece {
  readonly text: string;
  /** The offset of the next piece. */
  readonly end: number;
  readonly length: number;
}

/** A finding of the structure rules in the view, and what a repair would do about it. */
export interface FindingRow {
  readonly rule: string;
  readonly sentence: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  /** Position in the log, or place in the head. */
  readonly position?: number;
  readonly place?: number;
}

/** A change that a repair would make. */
export interface RepairRow {
  readonly rule: string;
  readonly action: string;
  readonly message: string;
  readonly position?: number;
  readonly place?: number;
}

/** Findings about the view by the rules of a profile. */
export interface Findings {
  readonly profile: string;
  readonly profiles: readonly string[];
  readonly findings: readonly FindingRow[];
  readonly repairs: readonly RepairRow[];
  /** Tool results that are hidden from the model, because their call is not in the view. */
  readonly hidden: readonly number[];
}

/** The size of a session's next request before its question, in tokens as the provider counts them. */
export interface WindowGauge {
  readonly model: string;
  readonly tokens: number;
  /** True where the view was cut since: the tokens are then those of the newest request. */
  readonly isCut?: boolean;
  /** Its part for the system prompt, tools and whatever else each request has; left out where it is not known. */
  readonly fixed?: number;
  /** The model's window, where it is said, and what a request may take of it. */
  readonly window?: number;
  readonly room?: number;
}

/** The gauge; left out where no answer of the view says what its request took. */
export interface GaugeAnswer {
  readonly gauge?: WindowGauge;
}

/** The figures of a reducer, from `simulateReducers`. */
export interface SimulationRow {
  readonly reducer: string;
  readonly requests: number;
  readonly sent: number;
  readonly cached: number;
  readonly billed: number;
  readonly reductions: number;
  readonly prefixBreaks: number;
  readonly questionsSeen: number;
  readonly toolResultsSeen: number;
}

/** A conversation under another reducer. */
export interface WhatIf {
  readonly edition: string;
  readonly next: number;
  readonly today: SimulationRow;
  readonly candidate: SimulationRow;
  /** Ranges of positions that the model would see at the end, first and last included. */
  readonly seen: readonly (readonly [first: number, last: number])[];
  /** Each cut: the message before which it was made, and the view's sizes. */
  readonly cuts: readonly { readonly before: number; readonly from: number; readonly to: number }[];
}

/** The server, and what its user said of models. */
export interface ServerFacts {
  readonly address: string;
  readonly prefix: string;
  readonly models: readonly ModelFact[];
}

/** Messages as code. */
export interface TestCase {
  readonly code: string;
  readonly messages: number;
}

/** A session in figures, without what was said in it. */
export interface SessionReport {
  readonly text: string;
}

/** Messages of a session that hold some words. */
export interface FoundInSession {
  readonly positions: readonly number[];
  /** The place from which the search goes on; left out where it is at the end. */
  readonly next?: number;
}

/** Sessions in whose messages some words stand. */
export interface FoundSessions {
  readonly sessions: readonly (Pick<SessionRow, "sessionId" | "title"> & {
    /** The newest message that holds them. */
    readonly position?: number;
  })[];
  /** A cursor for more; left out at the end. */
  readonly next?: string;
  readonly searched: { readonly sessions: number; readonly messages: number; readonly skipped: number };
}

/** The error, in a sentence for the reader. */
export interface Problem {
  readonly error: string;
}
