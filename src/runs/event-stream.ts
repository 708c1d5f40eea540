import { inTime } from "../base/in-time.js";

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
