import { hrtime } from "node:process";

/** The requests of a client. */
export type Deed =
  | "append"
  | "view"
  | "transcript"
  | "rewind"
  | "clear"
  | "reduce"
  | "summarize"
  | "replace"
  | "fork"
  | "erase"
  | "erase-beside"
  | "list"
  | "put"
  | "get"
  | "follow"
  | "reencrypt";

/** A line of a journal: what a client is about to ask. `ask` numbers the questions of a journal. */
export interface Ask {
  readonly at: number;
  readonly ask: number;
  readonly do: Deed;
  /** Left out for `summarize`, where only the messages are known. */
  readonly session?: string;
  /** For `put` and `get`, the thread of LangGraph. */
  readonly thread?: string;
  /** For `follow`, the session whose run is read; `turn` is its turn. */
  readonly chat?: string;
  /** By which door a turn is written. */
  readonly door?: string;
  /** The turn that is written; for `rewind` the turn that the named message belongs to. */
  readonly turn?: string;
  /** Messages of the turn. */
  readonly count?: number;
  /** For `rewind`, the index in the turn of the named message. */
  readonly index?: number;
  /** True for a turn that is written step by step, so that others may write in between. */
  readonly steps?: boolean;
  /** For whom a turn is written; whose sessions are erased or listed. */
  readonly owner?: string;
  /** For `erase`, how many milliseconds late writers are refused. */
  readonly guardMs?: number;
  /** True for a turn that holds its session while it is written. */
  readonly held?: boolean;
  /** For `replace`, the turn from which on all goes; the new one is `turn`. */
  readonly replaces?: string;
  /** For `fork`, the new session. */
  readonly into?: string;
  /** For `fork`, the number of messages to copy; all where it is left out. */
  readonly upTo?: number;
  /** True for a read of a session of which every read shows all: nothing leaves its view or its log. */
  readonly whole?: boolean;
  /** True where a replica has to acknowledge. */
  readonly waits?: boolean;
}

/** A line of a journal: what the client was told. A question without an answer has an unknown outcome. */
export interface Told {
  readonly at: number;
  readonly told: number;
  readonly ok: boolean;
  /** The code of the error. */
  readonly error?: string;
  /** The messages that a read showed, see `runs.ts`. */
  readonly runs?: string;
  /** The coverage that the summaries of a read claim. */
  readonly covered?: readonly string[];
  /** The sessions that a list showed. */
  readonly listed?: readonly string[];
  /** Kinds of data of which an erasure left something. */
  readonly left?: readonly string[];
  /** The part of the answer that a reader of a run heard. */
  readonly said?: string;
  /** The end that it was told, and the run, by its time; left out where the answer came out of the memory. */
  readonly end?: string;
  readonly run?: string;
  /** True where the memory reported that the answer of the turn is not stored. */
  readonly leftOut?: boolean;
  /** The rules that a view, with the messages that a model was sent, breaks. */
  readonly issues?: readonly string[];
}

/** Microseconds of the machine's monotonic clock, the same in all processes. */
export function clock(): number {
  return Number(hrtime.bigint() / 1_000n);
}
