import { MemoryError } from "../base/errors.js";
import { sse, type EventStreamOptions, type ServerSentEvent } from "./event-stream.js";
import type { RunEnd } from "./run-log.js";

/**
 * An item of a run: chunks come in order, each once, and last the end.
 *
 * `reset` comes where chunks are missing for good, because Redis lost them or the run became too long: forget what you
 * have of the run. The whole answer follows as one chunk with `stored`, if the memory has it.
 */
export type RunItem<Chunk = unknown> =
  | {
      /** Position behind which a reader goes on: `after` of `join`, `Last-Event-ID`. */
      readonly id: string;
      /** The chunk, as the run's work yielded it. */
      readonly chunk: Chunk;
    }
  | {
      /** The stored answer as the work would return it, else the messages of the turn. */
      readonly chunk: unknown;
      /** True for an answer out of the memory. */
      readonly stored: true;
    }
  | {
      /** Chunks are missing for good. */
      readonly reset: true;
    }
  | RunEnd;

/** Options of {@link Run.toSSE}; `signal` ends the stream, and the run goes on. */
export interface ServerSentEventsOptions extends EventStreamOptions {
  /** The text of a chunk, which a page reads as `event.data`. @default JSON */
  readonly encode?: (chunk: unknown) => string;
}

/**
 * A reader of a run: an async iterable of its items. Leaving it does not stop the run. Each iteration begins at the
 * position that was asked for.
 */
export class Run<Chunk = unknown> implements AsyncIterable<RunItem<Chunk>> {
  readonly #read: (signal: AbortSignal | undefined) => AsyncGenerator<RunItem>;

  /** Made by `start` and `join`. */
  constructor(read: (signal: AbortSignal | undefined) => AsyncGenerator<RunItem>) {
    this.#read = read;
  }

  /** The items from the position on, up to the end of the run. */
  [Symbol.asyncIterator](): AsyncGenerator<RunItem<Chunk>> {
    return this.#read(undefined) as AsyncGenerator<RunItem<Chunk>>;
  }

  /**
   * The items as server-sent events, for the body of a response of the type `text/event-stream`.
   *
   * A chunk is an event with an `id`, so that a browser's EventSource goes on where it was after a lost connection. The
   * event `stored` holds a whole answer, `reset` says to forget what came before, and `end` holds the state: close the
   * EventSource then, or it connects again. An `end` without a state: nothing is known of the run, its session was
   * erased, or it is somebody else's. A run that cannot be read ends as `failed`, with the error's code. Where Redis is
   * away, or this process's memory is closed, the stream ends without that event, and an EventSource goes on elsewhere.
   */
  toSSE({ encode = jsonOf, ...options }: ServerSentEventsOptions = {}): ReadableStream<Uint8Array> {
    return sse((left) => eventsOf(this.#read(left), encode), options);
  }
}

/** The events of items, up to the end or to where a reader that joins again goes on. */
async function* eventsOf(
  items: AsyncIterable<RunItem>,
  encode: (chunk: unknown) => string,
): AsyncGenerator<ServerSentEvent> {
  // Without a state for a run of which nothing is known. Without an end an EventSource connects again.
  let end: object = {};
  try {
    for await (const item of items) {
      if ("state" in item) {
        end = item;
      } else {
        yield eventOf(item, encode);
      }
    }
  } catch (error) {
    if (!MemoryError.isInstance(error)) {
      throw error;
    }
    if (error.retryable || error.code === "closed") {
      // A reader that joins again, on another process or later, goes on.
      return;
    }
    // Nobody learns whether a session of somebody else exists.
    end = ["erased", "other_owner"].includes(error.code) ? {} : { state: "failed", error: error.code };
  }
  yield { event: "end", data: JSON.stringify(end) };
}

function jsonOf(chunk: unknown): string {
  return JSON.stringify(chunk) ?? "null";
}

function eventOf(item: Exclude<RunItem, RunEnd>, encode: (chunk: unknown) => string): ServerSentEvent {
  if ("reset" in item) {
    return { event: "reset", data: "" };
  }
  return { ...("id" in item ? { id: item.id } : { event: "stored" }), data: encode(item.chunk) };
}
