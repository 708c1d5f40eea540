import { viewFields } from "../redis/stored-fields.js";
import { logSum, sumBehind, sumFrom } from "../redis/keys.js";
import { keptRecords, type KeptRecords } from "../store/kept-records.js";
import type { SessionView } from "../store/session-reads.js";
import { viewFrom, type ViewReply } from "./reads.js";

/** The end of a log as it was read: never changed, only replaced. */
export interface KeptView {
  readonly epoch: string;
  readonly base: number;
  /** Checksum of the log up to `next`. */
  readonly sum: number;
  /** Position of the first record that is kept. */
  readonly from: number;
  readonly next: number;
  /** At least one. */
  readonly texts: readonly string[];
  readonly kept: KeptRecords;
  readonly bytes: number;
}

/** A view, the reply that it was made of, and the kept view that the reply continues. */
export interface ReadView {
  readonly reply: ViewReply;
  readonly view: SessionView;
  readonly known?: KeptView;
}

/** An append of this process. */
export interface OwnAppend {
  /** Position that the first record was to get. */
  readonly at: number;
  readonly texts: readonly string[];
  /** Checksum of these records alone. */
  readonly sum: number;
}

/** Bytes counted for a record besides its text. */
const bytesOfRecord = 400;
/** Bytes counted for a character: twice two, for the record's text and for what was parsed of it. */
const bytesOfCharacter = 4;

const [epochAt, baseAt, nextAt, sumAt] = (["epoch", "base", "next", "sum"] as const).map((name) =>
  viewFields.indexOf(name),
) as [number, number, number, number];

/**
 * The views that this process read last, up to a number of bytes; those read longest ago leave first.
 *
 * A kept view is asked for from its last record on. It is the log's if epoch and base are the same, and the checksum in
 * the reply is the kept one extended by the records behind it. docs/decisions/19-kept-views-by-checksum.md proves it.
 */
export class KeptViews {
  readonly #capacity: number;
  readonly #views = new Map<string, KeptView>();
  #bytes = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes of all that is kept, as they are counted: an upper bound for text, a fair guess for its parsed form. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the view of a session, which is now the one read last. */
  get(sessionId: string): KeptView | undefined {
    const view = this.#views.get(sessionId);
    if (view?.kept.isRefused === true) {
      this.delete(sessionId);
      return undefined;
    }
    if (view !== undefined) {
      this.#views.delete(sessionId);
      this.#views.set(sessionId, view);
    }
    return view;
  }

  /**
   * Adds what this process appended where the kept view ends: the next read need not ask for it. The log before it may
   * have changed meanwhile; the checksum of the next reply tells.
   */
  extend(sessionId: string, epoch: string, { at, texts, sum }: OwnAppend): void {
    const known = this.#views.get(sessionId);
    if (known === undefined || texts.length === 0 || known.epoch !== epoch || known.next !== at) {
      return;
    }
    const list = [...known.kept.list, ...texts.map(() => ({ made: undefined, isReadOften: true }))];
    this.#set(sessionId, {
      ...known,
      sum: sumBehind(known.sum, { count: texts.length, sum }),
      next: at + texts.length,
      texts: [...known.texts, ...texts],
      kept: { list, isRefused: known.kept.isRefused },
      bytes: known.bytes + bytesOf(texts),
    });
  }

  /** Keeps a view that was read, `known` being what it was read with. Forgets the session if it cannot be kept. */
  keep(
    sessionId: string,
    { fields, view }: { readonly fields: ViewReply["fields"]; readonly view: SessionView },
    known?: KeptView,
  ): void {
    const { epoch, base, start, next, records: texts, damaged } = view;
    const sum = sumFrom(fields[sumAt]);
    const isWhole = !damaged && epoch !== "" && texts.length > 0 && texts.length === next - start;
    const isSame = known !== undefined && known.next === next && known.from === start;
    const bytes = isSame ? known.bytes : bytesOf(texts);
    if (!isWhole || sum === undefined || bytes > this.#capacity) {
      this.delete(sessionId);
      return;
    }
    if (isSame) {
      keptRecords.set(texts, known.kept);
      return;
    }
    const list = known?.kept.list.slice(start - known.from) ?? [];
    while (list.length < texts.length) {
      list.push({ made: undefined, isReadOften: known !== undefined });
    }
    const kept = { list, isRefused: false };
    keptRecords.set(texts, kept);
    this.#set(sessionId, { epoch, base, sum, from: start, next, texts, kept, bytes });
  }

  delete(sessionId: string): void {
    this.#bytes -= this.#views.get(sessionId)?.bytes ?? 0;
    this.#views.delete(sessionId);
  }

  #set(sessionId: string, view: KeptView): void {
    this.delete(sessionId);
    // One that is too large for all of the memory would only drive the others out.
    if (view.bytes > this.#capacity) {
      return;
    }
    this.#views.set(sessionId, view);
    this.#bytes += view.bytes;
    for (const oldest of this.#views.keys()) {
      if (this.#bytes <= this.#capacity) {
        break;
      }
      this.delete(oldest);
    }
  }
}

/** Index in the log from which a kept view is asked for: that of its last record. */
export function indexAfter({ base, next }: KeptView): number {
  return next - 1 - base;
}

/**
 * The reply as it would have been, had all records been asked for: the kept ones and those that came. Undefined if the
 * log is not the one that was read.
 */
function continuedReply(known: KeptView, reply: ViewReply): ViewReply | undefined {
  const { fields, records, index } = reply;
  const { epoch, base, next, sum, from, texts } = known;
  const isSame = fields[epochAt] === epoch && Number(fields[baseAt]) === base && index === indexAfter(known);
  if (!isSame || records[0] !== texts[texts.length - 1] || records.length !== Number(fields[nextAt]) - next + 1) {
    return undefined;
  }
  const fresh = records.slice(1);
  return sumFrom(fields[sumAt]) === logSum(fresh, sum)
    ? { ...reply, records: fresh.length === 0 ? texts : [...texts, ...fresh], index: from - base }
    : undefined;
}

/** The view in a reply, which may continue the kept one; undefined if more must be read. */
export function viewBehind(known: KeptView | undefined, reply: ViewReply): ReadView | undefined {
  const continued = known && continuedReply(known, reply);
  const view = viewFrom(continued ?? reply);
  return view && { reply, view, ...(continued && { known: known! }) };
}

function bytesOf(texts: readonly string[]): number {
  let characters = 0;
  for (const text of texts) {
    characters += text.length;
  }
  return bytesOfCharacter * characters + bytesOfRecord * texts.length;
}
