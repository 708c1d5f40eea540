import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { encodeMessage } from "../codec/encode-message.js";
import { identifyRecord, messageIdOf } from "../codec/message-ids.js";
import { splitRounds, type Round } from "../conversation/rounds.js";
import { ConfigurationError, ConflictError, StoreError } from "../errors.js";
import { report } from "../events.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions, positiveInteger } from "../options.js";
import type { ReductionOutcome } from "../reducers/reduction-outcome.js";
import { hasCapability, requireCapability } from "../store/capabilities.js";
import { lastRounds } from "../store/rounds.js";
import type { StoredRounds } from "../store/session-reads.js";
import type { AppendResult, NewRecord, SideChanges } from "../store/session-store.js";
import { countOf } from "../tokens/counted-messages.js";
import { z } from "zod";
import type { MemoryContext } from "./memory-context.js";
import { reduceAfterWrite, reduceAndCommit } from "./reduce-view.js";
import { decodeMessages, viewMessages } from "./view.js";

/** What an append takes besides the messages. */
export interface AppendOptions {
  /** Names the turn: messages without an id get `<turnId>-<index>`, so that a retried job adds nothing. */
  readonly turnId?: string;
  /** Side data that is written in the same step. */
  readonly side?: SideChanges;
}

/**
 * What an append did: messages stored, messages that were stored already, and the position that the next message will
 * get.
 */
export interface AppendOutcome {
  readonly appended: number;
  readonly duplicates: number;
  readonly next: number;
}

const pageSchema = lazy(() =>
  z.strictObject({ from: nonNegativeInteger.optional(), limit: positiveInteger.optional() }),
);
const roundsSchema = lazy(() => z.strictObject({ count: positiveInteger }));
const noOptions: AppendOptions = {};
const appendSchema = lazy(() =>
  z.strictObject({
    turnId: nonEmptyText().optional(),
    side: z.custom<SideChanges>().optional(),
  }),
);

/** One session: all that the adapters (history, Runnable, middleware) do with it. Holds no state but its id. */
export class ConversationSession {
  constructor(
    readonly sessionId: string,
    readonly context: MemoryContext,
  ) {
    if (typeof sessionId !== "string" || sessionId === "") {
      throw new ConfigurationError("sessionId", 'The session id ("sessionId") must be a non-empty string.');
    }
  }

  /** What the model sees. One round trip. */
  async readView(): Promise<BaseMessage[]> {
    const { store, reducer } = this.context;
    const stored = await store.readView(this.sessionId, { neverReduced: reducer === undefined });
    return viewMessages(stored, this.#decodeOptions());
  }

  /** Adds a turn. One round trip; one more where it makes the reducer reduce. */
  async append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    const { turnId, side } = options === undefined ? noOptions : parseOptions("append", appendSchema(), options);
    if (side !== undefined) {
      requireCapability('append() with "side"', this.context.store, "sideData");
    }
    const records = await this.#encode(messages, turnId);
    const result = await this.#write(records, side);
    for (const index of result.conflicts) {
      report(this.context.onEvent, { type: "conflict_kept", sessionId: this.sessionId, messageId: records[index]!.id });
    }
    if (result.view !== undefined) {
      const reduction = reduceAfterWrite(this, result.view);
      await (this.context.autoReduce === "background" ? this.#inBackground(reduction) : reduction);
    }
    const { appended, duplicates, next } = result;
    return { appended, duplicates, next };
  }

  /** The whole log, or a page of it, oldest first. One round trip. */
  async transcript(options: { readonly from?: number; readonly limit?: number } = {}): Promise<BaseMessage[]> {
    const page = await this.context.store.readLog(this.sessionId, parseOptions("getTranscript", pageSchema(), options));
    this.#reportDamage(page.damaged, "getTranscript");
    return decodeMessages(page.records, this.#decodeOptions(), page.from);
  }

  /** The last `count` rounds of the transcript. One round trip; reads only these where the store can. */
  async rounds(count: number): Promise<Round[]> {
    parseOptions("getRounds", roundsSchema(), { count });
    const stored = await this.#readRounds(count);
    this.#reportDamage(stored.damaged, "getRounds");
    const messages = decodeMessages(stored.records, this.#decodeOptions(), stored.from);
    return splitRounds(messages, { firstIndex: stored.firstRound }).slice(-count);
  }

  /** Runs the reducer now and commits what it gives. */
  async reduceView(config?: RunnableConfig): Promise<ReductionOutcome> {
    if (this.context.reducer === undefined) {
      throw new ConfigurationError("reducer", 'reduceView() needs the option "reducer".');
    }
    return reduceAndCommit(this, config);
  }

  /** Removes the message and all after it. Three round trips at least: it has to find the message. */
  async rewind(messageId: string): Promise<void> {
    const store = requireCapability("rewind()", this.context.store, "rewind");
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const { epoch, rev, next } = await store.readView(this.sessionId);
      const page = await store.readLog(this.sessionId);
      const ids = page.records.map((record) => identifyRecord(record)?.id);
      const index = ids.lastIndexOf(messageId);
      if (index < 0) {
        throw new ConflictError("rewind: no message of this id is stored in the session.", {
          code: "unknown_message",
          sessionId: this.sessionId,
          messageId,
        });
      }
      const forget = ids.slice(index).filter((id) => id !== undefined);
      const answer =
        page.next === next
          ? await store.rewind(this.sessionId, { epoch, rev, next, to: page.from + index, forget })
          : "stale";
      if (answer === "rewound") {
        return;
      }
    }
    throw new ConflictError("rewind: other processes kept changing the session; try again.", {
      code: "stale",
      sessionId: this.sessionId,
    });
  }

  /** Derives everything that is kept about the log anew from the log. */
  async rebuild(): Promise<void> {
    const store = requireCapability("rebuild()", this.context.store, "rebuild");
    await store.rebuild(this.sessionId, (record) => identifyRecord(record));
  }

  async #readRounds(count: number): Promise<StoredRounds> {
    const { store } = this.context;
    if (hasCapability(store, "rounds")) {
      return store.readRounds(this.sessionId, count);
    }
    const { records, base, damaged } = await store.readLog(this.sessionId);
    return { ...lastRounds(records, { base, count }), damaged };
  }

  async #encode(messages: readonly BaseMessage[], turnId: string | undefined): Promise<NewRecord[]> {
    const counter = this.context.tokenCounter;
    const records: NewRecord[] = [];
    for (const [index, message] of messages.entries()) {
      const id = messageIdOf(message, { index, turnId });
      if (counter === undefined) {
        records.push(encodeMessage(message, { id }));
        continue;
      }
      const tokens = await countOf(counter, message);
      const { digest, record } = encodeMessage(message, { id, tokens: { [counter.id]: tokens } });
      records.push({ id, digest, record, tokens });
    }
    return records;
  }

  async #write(records: readonly NewRecord[], side: SideChanges | undefined): Promise<AppendResult> {
    const { store, ttlMs, onConflict, onDamage, reducer, autoReduce, tokenCounter } = this.context;
    const request = {
      records,
      onConflict,
      ttlMs,
      side,
      counter: tokenCounter?.id,
      viewLimit: autoReduce === false ? undefined : reducer?.viewLimit,
    };
    try {
      return await store.append(this.sessionId, request);
    } catch (error) {
      if (onDamage !== "rebuild" || !StoreError.isInstance(error) || error.code !== "damaged") {
        throw error;
      }
      this.#reportDamage(true, "append");
      await this.rebuild();
      return store.append(this.sessionId, request);
    }
  }

  #inBackground(reduction: Promise<void>): void {
    const { pending } = this.context;
    const tracked = reduction.finally(() => pending.delete(tracked));
    pending.add(tracked);
  }

  #decodeOptions() {
    const { strict, onEvent } = this.context;
    return { sessionId: this.sessionId, strict, onEvent };
  }

  #reportDamage(damaged: boolean, operation: string): void {
    if (damaged) {
      report(this.context.onEvent, { type: "damaged", sessionId: this.sessionId, operation });
    }
  }
}
