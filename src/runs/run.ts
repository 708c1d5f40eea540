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

/** Options of {@link Run.toSSE}. */
export interface ServerSentEventsOptions {
  /** Ends the stream; the run goes on. */
  readonly signal?: AbortSignal;
  /** The text of a chunk, which a page reads as `event.data`. @default JSON */
  readonly encode?: (chunk: unknown) => string;
}

/** Milliseconds between signs of life on a silent connection. */
const silenceMs = 15_000;

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
   * EventSource then, or it connects again.
   */
  toSSE({ signal, encode = JSON.stringify }: ServerSentEventsOptions = {}): ReadableStream<Uint8Array> {
    const left = new AbortController();
    const leave = () => left.abort();
    const items = this.#read(left.signal);
    const bytes = new TextEncoder();
    let timer: NodeJS.Timeout | undefined;
    const close = () => {
      clearInterval(timer);
      signal?.removeEventListener("abort", leave);
    };
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal?.addEventListener("abort", leave, { once: true });
        timer = setInterval(() => controller.enqueue(bytes.encode(":\n\n")), silenceMs);
        timer.unref();
        if (signal?.aborted) {
          leave();
        }
      },
      pull: async (controller) => {
        try {
          const { done, value } = await items.next();
          if (done) {
            close();
            controller.close();
          } else {
            controller.enqueue(bytes.encode(eventOf(value, encode)));
          }
        } catch (error) {
          close();
          throw error;
        }
      },
      cancel: async () => {
        leave();
        close();
        await items.return(undefined);
      },
    });
  }
}

function eventOf(item: RunItem, encode: (chunk: unknown) => string): string {
  if ("reset" in item) {
    return "event: reset\ndata:\n\n";
  }
  if ("state" in item) {
    return `event: end\ndata: ${JSON.stringify(item)}\n\n`;
  }
  const head = "id" in item ? `id: ${item.id}\n` : "event: stored\n";
  return `${head}${encode(item.chunk).replaceAll(/^/gm, "data: ")}\n\n`;
}
