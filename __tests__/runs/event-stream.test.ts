import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { sse, type ServerSentEvent } from "langchain-redis-memory/runs";
import { Run } from "../../src/runs/run.js";

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

  it("ends the reader of a run at once", async () => {
    let given: AbortSignal | undefined;
    const run = new Run(async function* (signal) {
      given = signal;
      yield { id: "1-1:0", chunk: "a" };
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
    });
    const reader = run.toSSE().getReader();
    await reader.read();
    await reader.cancel();
    expect(given?.aborted).toBe(true);
  });
});
