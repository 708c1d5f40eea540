import { MemoryError } from "../base/errors.js";
import type { RunEnd } from "./run-log.js";
import { inTime } from "../base/bounds.js";
import { storedOutput } from "../doors/chain/messages.js";
import type { ConversationSession } from "../memory/session/conversation-session.js";
import { answersOfTurn } from "../memory/session/turn-messages.js";
import { openTurn } from "../memory/turns/open-turn.js";

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

/** A server-sent event. */
export interface ServerSentEvent {
  /** The text, which a page reads as `event.data`; of any number of lines. */
  readonly data: string;
  /** The type, for `addEventListener`. @default message */
  readonly event?: string;
  /** The position that a browser sends as `Last-Event-ID` when it connects again. */
  readonly id?: string;
}

/** Events, or what makes them and ends with the signal, which aborts when nobody reads any more. */
export type ServerSentEvents =
  AsyncIterable<ServerSentEvent> | ((signal: AbortSignal) => AsyncIterable<ServerSentEvent>);

/** Options of {@link sse}. */
export interface EventStreamOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Milliseconds between signs of life on a silent connection. */
const silenceMs = 15_000;
/** A comment without an empty line behind it, which some clients take for an empty message. */
const signOfLife = ":\n";

/**
 * The body of a response of the type `text/event-stream`: events as they come, and every 15 seconds of silence a sign
 * of life, so that no proxy cuts the connection.
 *
 * Events are taken as fast as the client reads. When the client leaves or `signal` aborts, the iteration is left.
 * @example
 * import { sse } from "langchain-redis-memory/runs";
 *
 * async function* ticks() {
 *   for (let tick = 1; tick <= 3; tick += 1) {
 *     yield { event: "tick", data: JSON.stringify({ tick }) };
 *   }
 * }
 * const response = new Response(sse(ticks()), { headers: { "content-type": "text/event-stream" } });
 * console.log(await response.text());
 */
export function sse(events: ServerSentEvents, { signal }: EventStreamOptions = {}): ReadableStream<Uint8Array> {
  const left = new AbortController();
  const frames = framesOf(typeof events === "function" ? events(left.signal) : events, left.signal);
  // Not awaited: it comes behind the next event of a source that is silent. Where nobody reads, it ends the source.
  const leave = () => (left.abort(), void frames.return(undefined));
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted) {
    leave();
  }
  const bytes = new TextEncoder();
  const close = () => signal?.removeEventListener("abort", leave);
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await frames.next();
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
    cancel: () => {
      leave();
      close();
    },
  });
}

/** Texts of events, and signs of life between them. */
async function* framesOf(events: AsyncIterable<ServerSentEvent>, signal: AbortSignal): AsyncGenerator<string> {
  if (signal.aborted) {
    return;
  }
  const source = events[Symbol.asyncIterator]();
  const left = new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  try {
    let next = source.next();
    next.catch(() => undefined);
    while (!signal.aborted) {
      const step = await inTime(Promise.race([next, left]), silenceMs, () => "silent" as const);
      if (step === "silent") {
        yield signOfLife;
      } else if (step === undefined || step.done === true) {
        return;
      } else {
        yield textOf(step.value);
        next = source.next();
        next.catch(() => undefined);
      }
    }
  } finally {
    // Not awaited, for the same reason.
    void Promise.resolve(source.return?.()).catch(() => undefined);
  }
}

function textOf({ data, event, id }: ServerSentEvent): string {
  const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
  // JSON may hold U+2028, which ends a line of JavaScript's regular expressions, but none of an event.
  const lines = data.split(/\r\n|\n|\r/);
  return `${head}${lines.map((line) => `data: ${line}\n`).join("")}\n`;
}

/** The stored answer of a turn, and how it ended; nothing where there is no turn, or nothing of its answer. */
export async function storedAnswer(session: ConversationSession, turnId: string | undefined): Promise<RunItem[]> {
  if (turnId === undefined) {
    return [];
  }
  const { stored, state } = await openTurn({ session, turnId, input: [] });
  const messages = answersOfTurn(stored);
  if (messages.length === 0) {
    return [];
  }
  const answer = { chunk: storedOutput(stored)?.value ?? messages, stored: true } as const;
  return state === "open" ? [answer] : [answer, { state: state === "interrupted" ? "stopped" : "done" }];
}
