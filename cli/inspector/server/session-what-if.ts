import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { digestMessage } from "../../../src/store/codec/encode-message.js";
import { metaOf } from "../../../src/store/codec/decode-record.js";
import { ChatHistoryReducer, type ReductionOutcome } from "../../../src/conversation/reducers/chat-history-reducer.js";
import { simulateReducers } from "../../simulation/simulate-reducers.js";
import type { TokenCounter } from "../../../src/conversation/tokens/counted-messages.js";
import { UsageError } from "../../failure.js";
import { reducerOf } from "../../reducer-spec.js";
import type { Server } from "../../server.js";
import type { WhatIf } from "../model/data.js";
import { cutsOf } from "../model/timeline.js";
import { readLog, type LogItem } from "./log-reader.js";
import { RecordedReducer, type PlacedMessage, type Recording } from "./recorded-reducer.js";
import { readFront } from "./session-front.js";
import type { SessionOutlines } from "./session-outlines.js";

/** Tokens that a summary is taken to have: no model is called. The same as the command line's default. */
const summaryTokens = 300;

/** A session that was read. */
interface Known {
  readonly key: string;
  readonly recording: Recording;
  readonly positions: ReadonlyMap<BaseMessage, number>;
  readonly base: number;
  readonly next: number;
}

/** A reducer to try. */
interface Candidate {
  readonly name: string;
  readonly reducer: ChatHistoryReducer | undefined;
  readonly edition: string;
}

/** Replays the open session under other reducers, and keeps what it read while the session stays as it is. */
export class SessionWhatIf {
  readonly #server: Server;
  readonly #outlines: SessionOutlines;
  readonly #counter: TokenCounter;
  #session: Known | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(server: Server, outlines: SessionOutlines, counter: TokenCounter) {
    this.#server = server;
    this.#outlines = outlines;
    this.#counter = counter;
  }

  /**
   * Compares the requests of another reducer with those that were sent. One simulation at a time.
   *
   * @throws UsageError for what is no reducer.
   */
  replay(sessionId: string, spec: string): Promise<WhatIf> {
    const candidate = reducerOf(spec, { summaryTokens });
    const result = this.#running.then(async () => {
      const { edition, page } = await this.#outlines.edition(sessionId);
      const session = await this.#read(sessionId, { edition, rev: page.rev, next: page.next });
      return this.#simulate(session, {
        name: spec,
        reducer: candidate.reducer as ChatHistoryReducer | undefined,
        edition,
      });
    });
    this.#running = result.catch(() => undefined);
    return result;
  }

  async #simulate(session: Known, { name, reducer, edition }: Candidate): Promise<WhatIf> {
    const { recording, positions, next } = session;
    const transcript = recording.transcript.map(({ message }) => message);
    if (transcript.length === 0) {
      throw new UsageError("This session holds no messages that can be read.");
    }
    const watched = reducer && new WatchedReducer(reducer);
    const today = { name: "today", reducer: new RecordedReducer(recording) };
    const other = { name, ...(watched && { reducer: watched }) };
    const options = { tokenCounter: this.#counter };
    const [first, second] = await simulateReducers([transcript], [today, other], options);
    const cuts = (watched?.cuts ?? []).map(({ last, from, to }) => ({ before: positions.get(last)! + 1, from, to }));
    return { edition, next, today: first!, candidate: second!, seen: rangesOf(watched?.cuts.at(-1), session), cuts };
  }

  async #read(sessionId: string, state: Pick<WhatIf, "edition" | "next"> & { readonly rev: string }): Promise<Known> {
    const key = JSON.stringify([sessionId, state]);
    if (this.#session?.key === key) {
      return this.#session;
    }
    const transcript: PlacedMessage[] = [];
    const times = new Map<number, number | undefined>();
    let base = 0;
    for await (const { page, items } of readLog(this.#server, sessionId, { from: 0, to: state.next })) {
      base = page.base;
      for (const { message, position, record } of items) {
        times.set(position, metaOf(record).at);
        transcript.push(...(message === undefined ? [] : [{ message, position }]));
      }
    }
    const { store } = this.#server;
    const front = await readFront(this.#server, sessionId);
    const { reductions = [], reduced: reductionCount = 0 } = (await store.data.readStats({ id: sessionId })) ?? {};
    const log = { reductions, reductionCount, start: front.start, next: state.next };
    const cuts = cutsOf(log, (position) => times.get(position));
    const recording = { transcript, cuts, head: knownHead(front.items, transcript) };
    const positions = new Map(transcript.map(({ message, position }) => [message, position]));
    this.#session = { key, recording, positions, base, next: state.next };
    return this.#session;
  }
}

/** The messages of the head; what is the same as in the log is that very object, so that it counts as seen. */
function knownHead(items: readonly LogItem[], transcript: readonly PlacedMessage[]): BaseMessage[] {
  const ids = new Set(items.map(({ message }) => message?.id));
  const same = transcript.flatMap(({ message }) => (ids.has(message.id) ? [[message.id, message] as const] : []));
  const byId = new Map(same);
  return items.flatMap(({ message }) => {
    if (message === undefined) {
      return [];
    }
    const original = byId.get(message.id);
    return original !== undefined && digestMessage(original) === digestMessage(message) ? original : message;
  });
}

/** A cut that a reducer made: the last message that it was given, and what it left. */
interface WatchedCut {
  readonly last: BaseMessage;
  readonly from: number;
  readonly to: number;
  readonly result: readonly BaseMessage[];
}

/** Another reducer, and what it did. */
class WatchedReducer extends ChatHistoryReducer {
  readonly #inner: ChatHistoryReducer;
  readonly cuts: WatchedCut[] = [];

  constructor(inner: ChatHistoryReducer) {
    super();
    this.#inner = inner;
  }

  static override lc_name(): string {
    return "WatchedReducer";
  }

  override get viewLimit() {
    return this.#inner.viewLimit;
  }

  override async reduceWithOutcome(messages: BaseMessage[], config?: RunnableConfig): Promise<ReductionOutcome> {
    const last = messages.at(-1)!;
    const from = messages.length;
    const outcome = await this.#inner.reduceWithOutcome(messages, config);
    if (outcome.changed) {
      const result = outcome.messages;
      // Only the last result is asked for; the others would hold every view of the session in memory.
      const before = this.cuts.pop();
      this.cuts.push(...(before ? [{ ...before, result: [] }] : []), { last, from, to: result.length, result });
    }
    return outcome;
  }
}

/** The positions that are left after the last cut, as ranges. */
function rangesOf(cut: WatchedCut | undefined, { positions, base, next }: Known): [number, number][] {
  if (cut === undefined) {
    return [[base, next - 1]];
  }
  const places = cut.result.flatMap((message) => positions.get(message) ?? []).sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  const add = (first: number, last: number) => {
    const before = ranges.at(-1);
    if (before !== undefined && before[1] >= first - 1) {
      before[1] = Math.max(before[1], last);
    } else if (first <= last) {
      ranges.push([first, last]);
    }
  };
  places.forEach((position) => add(position, position));
  add(positions.get(cut.last)! + 1, next - 1);
  return ranges;
}
