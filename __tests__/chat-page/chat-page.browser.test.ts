import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import type { Page } from "playwright-core";
import { startGate } from "../../tools/testkit/proxies/gate.js";
import { until } from "../../tools/testkit/servers/until.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { allLeastCommands, partCommands } from "../support/least-commands.js";
import { browserPages, type WatchedPage } from "../support/shared-browser.js";
import { sharedRedisUrl } from "../support/shared-redis.js";
import { blocksOfRuns, filesOfGuide } from "./guide.js";
import { chatPageScenarios } from "./scenarios.js";
import { slowAnswer, startScriptedModel, type ScriptedModel } from "./scripted-answers.js";

const root = join(__dirname, "../..");
mkdirSync(join(root, ".cache"), { recursive: true });
const folder = mkdtempSync(join(root, ".cache", "chat-page-"));
// A database of its own: the guide's route uses the default key prefix.
const redisUrl = `${sharedRedisUrl()}/8`;
const open = browserPages();

/** The guide's page as a script, with Preact in place of React. */
function pageScript(): string {
  const contents = `import Page from "./app/page"; import { follow, running } from "./runs/page";
    import { render } from "preact";
    Object.assign(globalThis, { follow, running });
    render(<Page />, document.querySelector("#page"));`;
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: folder, loader: "tsx" },
    ...{ bundle: true, write: false, format: "iife", target: "es2022" },
    ...{ jsx: "automatic", jsxImportSource: "preact", alias: { react: "preact/compat" } },
  });
  return outputFiles[0]!.text;
}

/** Routes of the guide docs/resumable-runs.md: its own, its agent, and its adapter. */
const routesOfRuns = `
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type Run } from "langchain-redis-memory/runs";
import { uiMessageStream } from "./adapter.ts";
import { encode, say } from "./steering.ts";
const runs = redisRuns(new RedisChatMemory({ url: process.env["REDIS_URL"]! }));
const idOf = (request: Request) => new URL(request.url).searchParams.get("id")!;
export const agent = {
  POST: async (request: Request) => {
    const { id, message } = await request.json();
    await say(id, message);
    return new Response(null, { status: 202 });
  },
  GET: async (request: Request) => {
    const after = request.headers.get("last-event-id");
    const headers = { "content-type": "text/event-stream" };
    return new Response(runs.join(idOf(request), { after }).toSSE({ encode }), { headers });
  },
};
export const adapter = { GET: async (request: Request) => uiMessageStream(runs.join(idOf(request)) as Run<string>) };
`;

/** How long a process may be silent: a machine that runs other tests beside a browser may stop one for two seconds. */
const lostAfterMs = 5_000;

/** The code of a guide, but for how soon a silent process counts as dead, and how long its page's route waits. */
function withPatience(code: string): string {
  return code
    .replace(/(redisRuns\((?:[^()]|\([^()]*\))*)\)/, `$1, { lostAfterMs: ${lostAfterMs} })`)
    .replace(/(?=sessionTTL:)/, 'redis: { commandTimeout: Number(process.env["COMMAND_TIMEOUT"]) },');
}

/** Writes the files of the guides, and a program that serves them. */
function writeProgram(): string {
  const { route, page, steering, adapter } = blocksOfRuns(root);
  const runs = { route: `${route}\nexport { memory };`, page, steering, adapter, routes: routesOfRuns };
  const files = Object.entries(runs).map(([name, code]) => [`runs/${name}.ts`, code] as const);
  for (const [path, code] of [...Object.entries(filesOfGuide(root)), ...files]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), withPatience(code));
  }
  const program = join(folder, "serve.mts");
  const host = join(root, "__tests__/chat-page/page-host.ts");
  writeFileSync(
    program,
    `import * as chats from "./app/api/chats/route.ts";
    import * as runs from "./runs/route.ts";
    import { adapter, agent } from "./runs/routes.ts";
    import { servePage } from ${JSON.stringify(host)};
    const routes = { "/api/chats": chats, "/api/runs": runs, "/api/agent": agent, "/api/adapter": adapter };
    servePage(routes, ${JSON.stringify(pageScript())});
    // As hosts do: a page may keep its connection to a process that only has closed its memory, and ask it for ever.
    process.once("SIGTERM", () => void runs.memory.close().then(() => process.exit()));`,
  );
  return program;
}

/** Gives each connection to the next of several servers, as long as they serve. */
function startBalancer(all: readonly number[]) {
  const sockets = new Set<Socket>();
  let ports = all;
  let connections = 0;
  const server = createServer((socket) => {
    const upstream = connect(ports[(connections += 1) % ports.length]!, "127.0.0.1");
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => undefined).once("close", () => (sockets.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  const cut = () => sockets.forEach((socket) => socket.destroy());
  const connectTo = (...indexes: number[]) => {
    ports = indexes.map((index) => all[index]!);
  };
  const serveBy = (...indexes: number[]) => {
    connectTo(...indexes);
    cut();
  };
  return { server, cut, connectTo, serveBy };
}

/** A way to Redis that can be blocked, for a user who has no more than the commands that the guides list. */
async function startUserGate(admin: Redis) {
  const user = `page-${randomUUID()}`;
  // `select`, because the address names a database.
  const commands = [...allLeastCommands, ...partCommands.redisRuns, "select"].map((command) => `+${command}`);
  await admin.call("ACL", "SETUSER", user, "reset", "on", ">pw", "~*", ...commands);
  const gate = await startGate(sharedRedisUrl());
  return {
    ...gate,
    url: `redis://${user}:pw@127.0.0.1:${gate.port}/8`,
    refusals: async () => {
      const entries = (await admin.call("ACL", "LOG")) as unknown[][];
      return entries.filter((entry) => entry.includes(user) && !entry.includes("client|setinfo"));
    },
    stop: async () => {
      await gate.stop();
      await admin.call("ACL", "DELUSER", user);
    },
  };
}

describe("the chat page of the guide, on three instances", () => {
  let model: ScriptedModel;
  let memory: RedisChatMemory;
  let built: BuiltPrograms;
  let instances: ChildProcess[];
  let serve: (redisUrl: string, commandTimeout?: string) => Promise<string>;
  let addresses: string[];
  let balancer: ReturnType<typeof startBalancer>;
  let url: string;
  let admin: Redis;
  let gate: Awaited<ReturnType<typeof startUserGate>>;
  const tabs: WatchedPage[] = [];

  beforeAll(async () => {
    const program = writeProgram();
    [model, built] = await Promise.all([startScriptedModel(), buildPrograms([program], { withPackages: true })]);
    memory = new RedisChatMemory({ url: redisUrl });
    admin = new Redis(redisUrl);
    gate = await startUserGate(admin);
    instances = [];
    serve = async (REDIS_URL, COMMAND_TIMEOUT = "60000") => {
      const env = { ...process.env, REDIS_URL, COMMAND_TIMEOUT, OPENAI_API_KEY: "none", OPENAI_BASE_URL: model.url };
      const instance = spawn(process.execPath, [built.pathOf(program)], { env, stdio: ["ignore", "pipe", "inherit"] });
      instances.push(instance);
      return String(await once(instance.stdout, "data")).trim();
    };
    addresses = await Promise.all([1, 2, 3].map(() => serve(gate.url)));
    balancer = startBalancer(addresses.map((address) => Number(new URL(address).port)));
    await once(balancer.server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(balancer.server.address() as AddressInfo).port}`;
  });
  afterEach(() => tabs.splice(0));
  afterAll(async () => {
    instances?.forEach((instance) => instance.kill("SIGKILL"));
    balancer?.cut();
    balancer?.server.close();
    built?.remove();
    rmSync(folder, { recursive: true, force: true });
    await Promise.all([memory?.close(), model?.close(), gate?.stop()]);
    admin?.disconnect();
  });

  const openTab = async (width = 1_280) => {
    const tab = await open({ viewport: { width, height: 800 } });
    tabs.push(tab);
    await tab.page.goto(url);
    return tab.page;
  };

  it.each(chatPageScenarios)("$title", async ({ run }) => {
    await run({ url, memory, openTab, breakConnections: balancer.cut });
    const [page] = tabs.map(({ complaints }) => complaints.filter((said) => !/status of 4\d\d|net::ERR_/.test(said)));
    expect(page ?? []).toEqual([]);
  });

  it("follows a question that another tab asks again before this one has seen more than its end", async () => {
    const question = `held ${randomUUID()}`;
    const [first, second] = [await openTab(), await openTab()];
    const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
    const isAsked = () => until("the model is asked", async () => model.isHeld(question));
    await first.getByLabel("Message").fill(question);
    await button(first, "Send").click();
    await button(second, question).click();
    await isAsked();
    let go = () => {};
    const gone = new Promise<void>((resolve) => (go = resolve));
    await first.route(/chats\?id=[^&]*$/, (route) => gone.then(() => route.continue()));
    await button(second, "Stop").click();
    await button(second, "Retry").waitFor();
    model.release(question);
    await button(second, "Retry").click();
    await isAsked();
    const following = first.waitForRequest(/&run=/);
    go();
    await following;
    model.release(question);
    await button(first, "Retry").waitFor();
  });

  it("answers 503 with the time of the next try where Redis is away", async () => {
    const route = `${await serve("redis://127.0.0.1:1", "1000")}/api/chats`;
    const question = JSON.stringify({ id: "c1", messageId: "m1", text: "Hi" });
    for (const [query, init] of [
      ["", {}],
      ["?id=c1", {}],
      ["", { method: "POST", headers: { "content-type": "application/json" }, body: question }],
      ["?id=c1", { method: "DELETE" }],
    ] as const) {
      const answer = await fetch(`${route}${query}`, init);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await answer.json()).toEqual({ error: "unavailable" });
    }
  });

  describe("and the code of the guide on runs", () => {
    /** Follows a run in a page as the guide does; resolves with what is said and with the end. */
    const followed = (page: Page, path: string, id: string, turn = "1") =>
      page.evaluate(
        async ([from, chat, question]) => {
          const { EventSource: Source, follow } = globalThis as unknown as FollowingPage;
          // The guide's function names its route.
          globalThis.EventSource = class extends Source {
            constructor(url: string) {
              super(url.replace("/api/runs", from!));
            }
          } as never;
          return new Promise<{ said: string; state: string }>((resolve) => {
            let said = "";
            follow(
              { chat: chat!, turn: question! },
              (text) => {
                said = text;
                (globalThis as unknown as FollowingPage).heard = text;
              },
              (state) => resolve({ said, state }),
            );
          });
        },
        [path, id, turn],
      );
    const running = (page: Page, id: string) =>
      page.evaluate((chat) => (globalThis as unknown as FollowingPage).running(chat), id);
    const post = (path: string, body: object, to = url) =>
      fetch(`${to}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    /** Starts an answer that takes minutes on one of the instances. */
    const startLong = (id: string, instance: number) =>
      post("/api/runs", { id, turnId: "1", text: `long ${id}` }, addresses[instance]);
    /** Resolves when a page that follows a run shows more than it does now. @throws Error when the run has ended. */
    const hearsMore = async (page: Page, following: Promise<{ state: string }>) => {
      const now = await page.evaluate(() => (globalThis as unknown as FollowingPage).heard?.length ?? 0);
      const more = page.waitForFunction(
        (then) => ((globalThis as unknown as FollowingPage).heard?.length ?? 0) > then,
        now,
      );
      const ended = await Promise.race([more.then(() => undefined), following]);
      if (ended !== undefined) {
        throw new Error(`The run has ended in the page: ${ended.state}.`);
      }
    };
    /** Stops a run. Where Redis has lost it, there is nothing to stop until its process has written it anew. */
    const stop = async (id: string, from = url) => {
      await until("the run is stopped", async () => {
        const answer = await fetch(`${from}/api/runs?id=${id}`, { method: "DELETE" });
        return ((await answer.json()) as { stopped: boolean }).stopped;
      });
    };
    const storedAnswer = async (id: string) =>
      (await memory.history(id, { owner: "guest" }).getMessages()).at(-1)!.text;
    /** Keys of runs that would never go. */
    const lasting = async () => {
      const keys = (await admin.keys("*")).filter((key) => /:(run|mail)\b/.test(key));
      const times = await Promise.all(keys.map((key) => admin.pttl(key)));
      return [keys.length > 0, keys.filter((_, index) => times[index] === -1)];
    };

    it("streams an answer into a page, and stops one", async () => {
      const [done, stopped] = [randomUUID(), randomUUID()];
      const page = await openTab();
      expect((await post("/api/runs", { id: done, turnId: "1", text: `slow ${done}` })).status).toBe(202);
      expect(await followed(page, "/api/runs", done)).toEqual({ said: slowAnswer(`slow ${done}`), state: "done" });
      const key = `lcmem:{${done}}:run`;
      const texts = (await admin.xrange(key, "-", "+")).map(([, [kind, text]]) => (kind === "d" ? text! : ""));
      const most = 2 * texts.join("").length + 100 * texts.length;
      expect(await admin.memory("USAGE", key, "SAMPLES", 0)).toBeLessThan(most);
      // Another page, or the same one again, where the chunks are gone.
      await admin.unlink(key);
      expect(await running(page, done)).toBeNull();
      expect(await followed(page, "/api/runs", done)).toEqual({ said: slowAnswer(`slow ${done}`), state: "done" });
      await post("/api/runs", { id: stopped, turnId: "1", text: `long ${stopped}` });
      expect(await running(page, stopped)).toBe("1");
      const other = await openTab();
      const following = followed(other, "/api/runs", stopped);
      await hearsMore(other, following);
      const answer = await fetch(`${url}/api/runs?id=${stopped}`, { method: "DELETE" });
      expect(await answer.json()).toEqual({ stopped: true });
      const { said, state } = await following;
      expect([said, state]).toEqual([await storedAnswer(stopped), "stopped"]);
    });

    it("says more to an agent at work, and a page sees it go on", async () => {
      const id = randomUUID();
      const page = await openTab();
      const starting = post("/api/agent", { id, message: { id: "m1", text: `held ${id}` } });
      await until("the model is asked", async () => model.isHeld(`held ${id}`));
      const following = followed(page, "/api/agent", id);
      await post("/api/agent", { id, message: { id: "m2", text: "by train" } });
      model.release(`held ${id}`);
      const answers = [`Answer to held ${id}.`, "Answer to by train."];
      expect(await following).toEqual({ said: answers.join(""), state: "done" });
      await starting;
      const stored = await memory.history(id).getMessages();
      expect(stored.map(({ text }) => text)).toEqual([`held ${id}`, answers[0], "by train", answers[1]]);
    });

    it("is a UI message stream of the AI SDK by the adapter", async () => {
      const id = randomUUID();
      await post("/api/runs", { id, turnId: "1", text: `slow ${id}` });
      const answer = await fetch(`${url}/api/adapter?id=${id}`);
      expect(answer.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      const events = (await answer.text()).trimEnd().split("\n\n");
      expect(events.at(-1)).toBe("data: [DONE]");
      const parts = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)) as Part);
      const types = parts.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
      expect(types).toEqual(["start", "text-start", "text-delta", "text-end", "finish"]);
      expect(parts.map(({ delta = "" }) => delta).join("")).toBe(slowAnswer(`slow ${id}`));
      const long = randomUUID();
      await startLong(long, 0);
      const ofLong = await fetch(`${url}/api/adapter?id=${long}`);
      await stop(long);
      expect((await ofLong.text()).trimEnd().split("\n\n").slice(-3, -1)).toEqual([
        'data: {"type":"text-end","id":"answer"}',
        'data: {"type":"abort"}',
      ]);
    });

    it("goes on in a page where Redis loses a run, and where it is away for longer than signs of life", async () => {
      const id = randomUUID();
      const page = await openTab();
      await startLong(id, 0);
      const following = followed(page, "/api/runs", id);
      await hearsMore(page, following);
      await admin.unlink(`lcmem:{${id}}:run`);
      await hearsMore(page, following);
      gate.block();
      await new Promise((resolve) => setTimeout(resolve, 1.5 * lostAfterMs));
      gate.heal();
      await hearsMore(page, following);
      expect(await lasting()).toEqual([true, []]);
      await stop(id, addresses[1]);
      const { said, state } = await following;
      expect([said, state]).toEqual([await storedAnswer(id), "stopped"]);
    });

    it("tells a page of a killed and of a frozen instance, and shows what another one answers then", async () => {
      const [killed, frozen] = [randomUUID(), randomUUID()];
      await startLong(killed, 0);
      await startLong(frozen, 1);
      balancer.serveBy(2);
      const pages = [await openTab(), await openTab()] as const;
      const [ofKilled, ofFrozen] = [followed(pages[0], "/api/runs", killed), followed(pages[1], "/api/runs", frozen)];
      await Promise.all([hearsMore(pages[0], ofKilled), hearsMore(pages[1], ofFrozen)]);
      instances[0]!.kill("SIGKILL");
      instances[1]!.kill("SIGSTOP");
      const beginning = (id: string) => expect.stringContaining(`The beginning of long ${id}`) as string;
      expect(await ofKilled).toEqual({ said: beginning(killed), state: "lost" });
      expect(await ofFrozen).toEqual({ said: beginning(frozen), state: "lost" });
      expect(await lasting()).toEqual([true, []]);
      // The same question again, whose session the dead instance held.
      await post("/api/runs", { id: killed, turnId: "1", text: `long ${killed}` }, addresses[2]);
      const whole = `Answer to long ${killed}.`;
      await until("the answer is stored", async () => (await storedAnswer(killed)) === whole);
      // Another question, while the frozen instance goes on with the first one.
      const next = `slow ${frozen}`;
      await post("/api/runs", { id: frozen, turnId: "2", text: next }, addresses[2]);
      const following = followed(pages[1], "/api/runs", frozen, "2");
      instances[1]!.kill("SIGCONT");
      expect(await following).toEqual({ said: slowAnswer(next), state: "done" });
      expect(await storedAnswer(frozen)).toBe(slowAnswer(next));
    });

    it("has stored what a page shows where an instance ends its runs and goes, and its readers go on", async () => {
      const [ended, other] = [randomUUID(), randomUUID()];
      await startLong(ended, 2);
      await startLong(other, 1);
      const pages = [await openTab(), await openTab()] as const;
      balancer.serveBy(1);
      const ofEnded = followed(pages[0], "/api/runs", ended);
      await hearsMore(pages[0], ofEnded);
      balancer.connectTo(2);
      const ofOther = followed(pages[1], "/api/runs", other);
      await hearsMore(pages[1], ofOther);
      balancer.connectTo(1);
      instances[2]!.kill("SIGTERM");
      const { said, state } = await ofEnded;
      expect([said, state]).toEqual([await storedAnswer(ended), "stopped"]);
      await hearsMore(pages[1], ofOther);
      await stop(other);
      const last = await ofOther;
      expect([last.said, last.state]).toEqual([await storedAnswer(other), "stopped"]);
    });

    it("needs no other commands of Redis than those that it lists", async () => {
      expect(await gate.refusals()).toEqual([]);
    });
  });
});

/** What the guide's page has, and what it shows. */
interface FollowingPage {
  heard?: string;
  readonly EventSource: new (url: string) => object;
  follow(
    question: { chat: string; turn: string },
    show: (said: string) => void,
    ended: (state: string) => void,
  ): () => void;
  running(chat: string): Promise<string | null>;
}

/** A part of a UI message stream. */
interface Part {
  readonly type: string;
  readonly delta?: string;
}
