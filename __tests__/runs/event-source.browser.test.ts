import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type RedisRuns } from "langchain-redis-memory/runs";
import { browserPages } from "../support/shared-browser.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

/** What a page learns that closes its EventSource at an `end`, as the guide's does. */
interface Heard {
  readonly events: string[];
  readonly errors: number;
}

describe("an EventSource in a browser", () => {
  const open = browserPages();
  let memory: RedisChatMemory;
  let runs: RedisRuns;
  let server: Server;
  let url: string;
  let asked: string[];

  beforeAll(async () => {
    memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix: uniquePrefix() } });
    runs = redisRuns(memory);
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, "http://localhost");
      if (pathname !== "/api/runs") {
        response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Page</title>");
        return;
      }
      asked.push(request.url!);
      const [id, turnId] = [searchParams.get("id")!, searchParams.get("turn") ?? undefined];
      const after = String(request.headers["last-event-id"] ?? "");
      const run = runs.join(id, { turnId, owner: searchParams.get("owner")!, ...(after !== "" && { after }) });
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      Readable.fromWeb(run.toSSE() as ReadableStream).pipe(response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => (asked = []));
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await memory.close();
  });

  /** Follows a run in a page for longer than Chromium waits before it connects again, which is three seconds. */
  const followed = async (query: Record<string, string>): Promise<Heard> => {
    const { page } = await open();
    await page.goto(url);
    return page.evaluate(
      async (path) => {
        const heard = { events: [] as string[], errors: 0 };
        const source = new EventSource(path);
        source.onmessage = ({ data }) => heard.events.push(String(data));
        source.onerror = () => (heard.errors += 1);
        ["reset", "stored", "end"].forEach((name) =>
          source.addEventListener(name, (event) =>
            heard.events.push(`${name} ${String((event as MessageEvent).data)}`),
          ),
        );
        source.addEventListener("end", () => source.close());
        await new Promise((resolve) => setTimeout(resolve, 7_000));
        return heard;
      },
      `/api/runs?${new URLSearchParams(query)}`,
    );
  };
  const start = async (id: string, owner: string) => {
    await memory.history(id, { owner }).addMessages([new HumanMessage("hi")]);
    const run = await runs.start(id, { turnId: "1", owner }, async function* () {
      yield "a";
    });
    for await (const _ of run);
  };

  it.each<[string, (id: string) => unknown, string, string[]]>([
    ["a run that has ended", () => undefined, "ann", ['"a"', 'end {"state":"done"}']],
    ["a chat that was deleted", (id) => memory.sessions.delete(id), "ann", ["end {}"]],
    ["a chat that was cleared", (id) => memory.history(id).clear(), "ann", ["end {}"]],
    ["somebody else's chat", () => undefined, "bob", ["end {}"]],
  ])("asks once for %s, and learns no more of it", async (name, change, owner, events) => {
    const id = name.replaceAll(/\W/g, "-");
    await start(id, "ann");
    await change(id);
    expect(await followed({ id, turn: "1", owner })).toEqual({ events, errors: 0 });
    expect(asked).toHaveLength(1);
  });

  it("asks once for a run whose chat is deleted while the page follows it", async () => {
    await memory.history("under-way", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    await runs.start("under-way", { turnId: "1", owner: "ann" }, async function* (signal) {
      while (!signal.aborted) {
        yield "a";
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    const heard = followed({ id: "under-way", turn: "1", owner: "ann" });
    while (asked.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await memory.sessions.delete("under-way");
    const { events, errors } = await heard;
    expect([events.at(-1), errors]).toEqual([expect.stringMatching(/^end /), 0]);
    expect(asked).toHaveLength(1);
  });

  it("asks once for a run of which nothing is known", async () => {
    expect(await followed({ id: "unknown", turn: "1", owner: "ann" })).toEqual({ events: ["end {}"], errors: 0 });
    expect(asked).toHaveLength(1);
  });
});
