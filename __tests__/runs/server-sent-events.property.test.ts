import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import fc from "fast-check";
import { ConflictError, StoreError } from "langchain-redis-memory";
import { type RunItem, type ServerSentEvent, sse } from "langchain-redis-memory/runs";
import { Run } from "../../src/runs/run.js";
import { forAllAsync } from "../support/property-runs.js";

interface Event {
  readonly type: string;
  readonly data: string;
  readonly id: string;
}

/** The events of a stream as the standard of EventSource has them: lines end with CR LF, LF or CR, and nothing else. */
function eventsIn(text: string): Event[] {
  const events: Event[] = [];
  let [type, data, id] = ["message", [] as string[], ""];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, field, value] = /^([^:]*):? ?([^]*)$/.exec(line)!;
    if (line === "") {
      events.push(...(data.length > 0 ? [{ type, data: data.join("\n"), id }] : []));
      [type, data] = ["message", []];
    } else if (field === "data") {
      data.push(value!);
    } else if (field === "event") {
      type = value!;
    } else if (field === "id") {
      id = value!;
    }
  }
  return events;
}

function runOf(items: readonly RunItem[], error?: Error): Run {
  return new Run(async function* () {
    yield* items;
    if (error !== undefined) {
      throw error;
    }
  });
}

const read = (run: Run, options?: Parameters<Run["toSSE"]>[0]) => new Response(run.toSSE(options)).text();

/** Texts with everything that some programs take for the end of a line. */
const text = fc.array(fc.constantFrom("a", "data: ", "\n", "\r", "\r\n", "\u2028", "\u2029", "\v", "\f", "\u0085"));

describe("server-sent events of a run", () => {
  it("give a page each chunk as it was, whatever it holds", () =>
    forAllAsync(100, fc.array(text), async (texts) => {
      const chunks = texts.map((parts) => parts.join(""));
      const items = chunks.map((chunk, index) => ({ id: `1-1:${index}`, chunk }));
      const [json, plain] = await Promise.all([
        read(runOf([...items, { state: "done" }])),
        read(runOf([...items, { state: "done" }]), { encode: String }),
      ]);
      const [ends, ofJson, ofPlain] = [{ state: "done" }, eventsIn(json), eventsIn(plain)];
      expect(ofJson.slice(0, -1).map(({ data }) => JSON.parse(data) as unknown)).toEqual(chunks);
      expect(ofPlain.slice(0, -1).map(({ data }) => data)).toEqual(chunks.map((each) => each.replace(/\r\n?/g, "\n")));
      expect(ofJson.slice(0, -1).map(({ id }) => id)).toEqual(items.map(({ id }) => id));
      expect(JSON.parse(ofJson.at(-1)!.data)).toEqual(ends);
    }));

  it("end with an event also where nothing is known of the run, else a browser asks again and again", async () => {
    expect(eventsIn(await read(runOf([])))).toEqual([{ type: "end", data: "{}", id: "" }]);
    const reset = await read(runOf([{ reset: true }]));
    expect(reset).toMatch(/^event: reset\n[^]*event: end\ndata: \{\}\n\n$/);
  });

  it("have null for a chunk that JSON does not hold", async () => {
    expect(eventsIn(await read(runOf([{ id: "1-1:0", chunk: undefined }])))[0]!.data).toBe("null");
  });

  it("end without an event where a browser is to go on elsewhere, and with one where nothing helps", async () => {
    const items = [{ id: "1-1:0", chunk: "a" }];
    for (const details of [{ code: "unavailable", retryable: true }, { code: "closed" }] as const) {
      const events = eventsIn(await read(runOf(items, new StoreError("No.", { ...details, operation: "joinRun" }))));
      expect(events.map(({ type }) => type)).toEqual(["message"]);
    }
    for (const [error, end] of [
      [new StoreError("No.", { code: "damaged", operation: "joinRun" }), { state: "failed", error: "damaged" }],
      [new StoreError("No.", { code: "erased", operation: "joinRun" }), {}],
      [new ConflictError("No.", { code: "other_owner", sessionId: "s" }), {}],
    ] as const) {
      const last = eventsIn(await read(runOf(items, error))).at(-1)!;
      expect([last.type, JSON.parse(last.data)]).toEqual(["end", end]);
    }
    await expect(read(runOf(items, new TypeError("A defect.")))).rejects.toThrow("A defect.");
  });
});

/** A source of events that a test says one by one. */
function spokenEvents() {
  const said: ServerSentEvent[] = [];
  let wake = () => {};
  let isLeft = false;
  async function* events() {
    try {
      for (;;) {
        while (said.length > 0) {
          yield said.shift()!;
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      isLeft = true;
    }
  }
  return { events, say: (...more: ServerSentEvent[]) => (said.push(...more), wake()), isLeft: () => isLeft };
}

const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

describe("sse", () => {
  afterEach(() => jest.useRealTimers());

  it("gives a sign of life every 15 seconds of silence, which no client takes for a message", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
    const { events, say } = spokenEvents();
    const reader = sse(events()).getReader();
    say({ data: "a" });
    expect(decode((await reader.read()).value)).toBe("data: a\n\n");
    for (let times = 0; times < 2; times += 1) {
      const next = reader.read();
      await jest.advanceTimersByTimeAsync(14_900);
      await jest.advanceTimersByTimeAsync(200);
      // A comment, and no empty line: fetch-event-source makes an empty message of that.
      expect(decode((await next).value)).toBe(":\n");
    }
    const last = reader.read();
    say({ event: "end", id: "7", data: "b\nc" });
    expect(decode((await last).value)).toBe("id: 7\nevent: end\ndata: b\ndata: c\n\n");
    await reader.cancel();
  });

  it("takes events as fast as the client reads", async () => {
    let made = 0;
    async function* many() {
      for (;;) {
        yield { data: `${(made += 1)}` };
      }
    }
    const reader = sse(many()).getReader();
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(made).toBeLessThan(5);
    await reader.cancel();
  });

  it("leaves the source when the client leaves, or its signal aborts, also while that is silent", async () => {
    const signals: AbortSignal[] = [];
    const silent = async function* (signal: AbortSignal) {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield { data: "late" };
    };
    const reader = sse(silent).getReader();
    const read = reader.read();
    await new Promise(setImmediate);
    await reader.cancel();
    expect(await read).toEqual({ done: true, value: undefined });
    const abort = new AbortController();
    const text = new Response(sse(silent, { signal: abort.signal })).text();
    await new Promise(setImmediate);
    abort.abort();
    expect(await text).toBe("");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(await new Response(sse(silent, { signal: AbortSignal.abort() })).text()).toBe("");
  });

  it("hands on what the source throws, and an end", async () => {
    const failing = async function* () {
      yield { data: "a" };
      throw new RangeError("no");
    };
    await expect(new Response(sse(failing())).text()).rejects.toThrow("no");
    expect(await new Response(sse((async function* () {})())).text()).toBe("");
  });

  it("is the body of a response of Node.js, which a client may leave", async () => {
    const { events, say, isLeft } = spokenEvents();
    let leave = () => {};
    const hasLeft = new Promise<void>((resolve) => (leave = resolve));
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      const body = Readable.fromWeb(sse(events()) as never);
      response.on("close", () => (body.destroy(), leave()));
      body.on("error", () => undefined).pipe(response);
    }).listen(0);
    await once(server, "listening");
    const request = get({ port: (server.address() as AddressInfo).port, agent: false });
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    say({ data: "a" });
    expect(String((await once(answer, "data"))[0])).toBe("data: a\n\n");
    request.destroy();
    await hasLeft;
    say({ data: "b" });
    while (!isLeft()) {
      await new Promise(setImmediate);
    }
    server.close();
  });
});
