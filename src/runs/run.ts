import { MemoryError } from "../base/errors.js";
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

/** The event behind the last item of a run of which nothing is known: without it an EventSource connects again. */
const endWithoutState = "event: end\ndata: {}\n\n";

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
   * EventSource then, or it connects again. An `end` without a state: nothing is known of the run. Where Redis is away,
   * or this process's memory is closed, the stream ends without that event, and an EventSource goes on elsewhere.
   */
  toSSE({ signal, encode = jsonOf }: ServerSentEventsOptions = {}): ReadableStream<Uint8Array> {
    const left = new AbortController();
    const leave = () => left.abort();
    const events = eventsOf(this.#read(left.signal), { encode, signal: left.signal });
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
          const { done, value } = await events.next();
          if (done) {
            close();
            controller.close();
          } else {
            controller.enqueue(bytes.encode(value));
          }
        } catch (error) {
          close();
          throw error;
        }
      },
      cancel: async () => {
        leave();
        close();
        await events.return(undefined);
      },
    });
  }
}

/** The events of items, up to the end or to where a reader that joins again goes on. */
async function* eventsOf(
  items: AsyncIterable<RunItem>,
  { encode, signal }: { readonly encode: (chunk: unknown) => string; readonly signal: AbortSignal },
): AsyncGenerator<string> {
  let hasEnd = false;
  try {
    for await (const item of items) {
      hasEnd = "state" in item;
      yield eventOf(item, encode);
    }
  } catch (error) {
    if (mayGoOnElsewhere(error)) {
      return;
    }
    throw error;
  }
  if (!hasEnd && !signal.aborted) {
    yield endWithoutState;
  }
}

function jsonOf(chunk: unknown): string {
  return JSON.stringify(chunk) ?? "null";
}

function eventOf(item: RunItem, encode: (chunk: unknown) => string): string {
  if ("reset" in item) {
    return "event: reset\ndata:\n\n";
  }
  if ("state" in item) {
    return `event: end\ndata: ${JSON.stringify(item)}\n\n`;
  }
  const head = "id" in item ? `id: ${item.id}\n` : "event: stored\n";
  // JSON may hold U+2028, which ends a line of JavaScript's regular expressions, but none of an event.
  const lines = encode(item.chunk).split(/\r\n|\n|\r/);
  return `${head}${lines.map((line) => `data: ${line}\n`).join("")}\n`;
}

/** True for an error of this process: a reader that joins again, on another one or later, goes on. */
function mayGoOnElsewhere(error: unknown): boolean {
  return MemoryError.isInstance(error) && (error.retryable || error.code === "closed");
}
