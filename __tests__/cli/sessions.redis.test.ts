import { once } from "node:events";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { jsonLines, runCommand, startCommand } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();
const run = hostedCommands();
let count = 0;

/** A key prefix of a test's own, a memory that writes under it, and commands that read it. */
function place() {
  count += 1;
  const prefix = `cli-sessions-${process.pid}-${count}`;
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 3 });
  const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, reducer, sessionTTL: 7_200 });
  const server = ["--url", sharedRedisUrl(), "--prefix", prefix];
  const command = (...args: readonly string[]) => run([...args, ...server]);
  const key = (sessionId: string, part: string) => `${prefix}:{${sessionId}}:${part}`;
  return { prefix, memory, command, server, key };
}

async function weatherTalk(memory: RedisChatMemory, sessionId: string): Promise<void> {
  const history = memory.history(sessionId);
  const answer = [aiCalls("c1"), tool("c1", "secret result"), ai("4 °C.")];
  await history.addMessages([system("Be brief."), human("Oslo?"), ...answer]);
  await history.addMessages([human("Rome? \u001b[31m"), ai("18 °C.")]);
}

describe("the command sessions", () => {
  it("lists sessions in the order asked for, and says how many there are", async () => {
    const { memory, command } = place();
    for (let length = 1; length <= 4; length += 1) {
      await memory.history(`s${length}`).addMessages(Array.from({ length }, (_, index) => human(`q${index}`)));
    }
    const { exitCode, output } = await command("sessions", "--sort", "messages", "--limit", "2", "--min-messages", "2");
    expect(exitCode).toBe(0);
    expect(output).toMatch(/^session +messages +rounds +updated \(UTC\) +expires in\ns4 .*\ns3 /);
    expect(output).toContain("2 of 3 sessions; --limit shows more.");
    const { output: json } = await command("sessions", "--json", "--match", "s1");
    expect(jsonLines(json)).toEqual([expect.objectContaining({ sessionId: "s1", messages: 1, rounds: 1 })]);
  });

  it("shows titles, and leaves out what a filter does not ask for", async () => {
    const { memory, prefix, command } = place();
    await memory.history("expires", { owner: "ann", title: "Trip to Oslo" }).addMessages([human("Oslo?")]);
    const lasting = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, encryption: testKeys("k1") });
    await lasting.history("lasts").addMessages([human("x".repeat(50_000))]);
    await memory.history("hurt").addMessages([human("a"), human("b")]);
    await client.del(`${prefix}:{hurt}:ids`);
    const ids = async (...filters: string[]) =>
      jsonLines((await command("sessions", "--json", ...filters)).output).map(({ sessionId }) => sessionId);
    expect(await ids("--expires-within", "3h", "--sort", "messages")).toEqual(["hurt", "expires"]);
    expect(await ids("--no-expiry")).toEqual(["lasts"]);
    expect(await ids("--encrypted")).toEqual(["lasts"]);
    expect(await ids("--damaged")).toEqual(["hurt"]);
    expect(await ids("--min-size", "40kB")).toEqual(["lasts"]);
    expect(await ids("--older-than", "1h")).toEqual([]);
    expect(await ids("--newer-than", "1h", "--sort", "size", "--limit", "1")).toEqual(["lasts"]);
    expect((await command("sessions", "--owner", "ann")).output).toContain("Trip to Oslo");
    expect((await command("sessions", "--older-than", "1 month")).exitCode).toBe(2);
  });

  it("says where to look if there is none", async () => {
    const { server } = place();
    expect((await runCommand(["sessions", ...server])).output).toBe(
      "No session was found. Check --prefix, and the filters.\n",
    );
  });
});

describe("the command search", () => {
  it("finds by text and title, shows text only on request, and says how to go on", async () => {
    const { memory, command } = place();
    await memory.history("ann", { owner: "u1", title: "Trip" }).addMessages([human("Oslo?")]);
    await memory.history("bob").addMessages([aiCalls("c1"), tool("c1", "cold in Oslo")]);
    await memory.drain();
    const found = await command("search", "oslo");
    expect(found).toMatchObject({ exitCode: 0, errors: "2 sessions found in 2 sessions and 3 messages.\n" });
    expect(found.output).toMatch(/^ann {2}u1 {2}Trip .* message 0, human\nbob .* message 1, tool\n$/);
    expect((await command("search", "oslo", "--content")).output).toContain("\n  cold in Oslo\n");
    const byLabel = await command("search", "TRIP", "--owner", "u1", "--json");
    expect(jsonLines(byLabel.output)).toEqual([expect.objectContaining({ sessionId: "ann", title: "Trip" })]);
    const [, cursor] = /--cursor (\S+) goes on/.exec((await command("search", "oslo", "--limit", "1")).errors)!;
    expect((await command("search", "oslo", "--cursor", cursor!)).output).toMatch(/^bob .*\n$/);
    expect((await command("search")).exitCode).toBe(2);
  });
});

describe("the command show", () => {
  it("shows rounds, what is in the view and what left it, and no text unless asked", async () => {
    const { memory, command } = place();
    await weatherTalk(memory, "ann");
    const { output, exitCode } = await command("show", "ann");
    expect(exitCode).toBe(0);
    expect(output).toMatch(/ 0 ● .*system\n\n +1 ○ .*human\n +2 ○ .*ai calls lookup\n +3 ○ .*result of lookup\n/);
    expect(output).toMatch(/Reductions \(UTC\):\n.* 7 → 3 messages/);
    expect(output).not.toContain("secret result");
    const withContent = await command("show", "ann", "--content", "--last", "3");
    expect(withContent.output).toContain("Rome? \\u001b[31m");
    expect(withContent.output).not.toContain("\u001b");
    expect(withContent.output).not.toContain("Oslo?");
  });

  it("prints the session and each message as JSON", async () => {
    const { memory, command } = place();
    await weatherTalk(memory, "ann");
    const [session, ...messages] = jsonLines((await command("show", "ann", "--json", "--content")).output);
    expect(session).toMatchObject({ sessionId: "ann", messages: 7, view: { messages: 3 }, reductions: 1 });
    expect(messages.map(({ inView }) => inView)).toEqual([true, false, false, false, false, true, true]);
    expect(messages[3]).toMatchObject({ position: 3, kind: "result of lookup", content: "secret result" });
  });
});

describe("the commands check, rebuild and delete", () => {
  it("name what breaks a rule of the profile, and records that cannot be read", async () => {
    const { prefix, memory, command } = place();
    await memory.history("ann").addMessages([human("q"), aiCalls("c1"), human("and?")]);
    const { exitCode, output } = await command("check", "ann", "--json");
    expect(exitCode).toBe(1);
    expect(jsonLines(output)[0]).toMatchObject({ problem: "structure", severity: "error", position: 1 });
    await client.lset(`${prefix}:{ann}:log`, 0, "junk");
    const unreadable = jsonLines((await command("check", "ann", "--json")).output);
    expect(unreadable[0]).toMatchObject({ problem: "unreadable record", position: 0 });
    expect(JSON.stringify(unreadable)).not.toContain("junk");
  });

  it("delete nothing without --yes, and all of a session with it", async () => {
    const { prefix, memory, command } = place();
    await weatherTalk(memory, "ann");
    expect((await command("delete", "ann")).exitCode).toBe(2);
    expect(await memory.history("ann").getTranscript()).toHaveLength(7);
    const { exitCode, output } = await command("delete", "ann", "nobody", "--yes");
    expect(exitCode).toBe(1);
    expect(output).toBe("ann: deleted\nnobody: there is no such session\n");
    expect(await client.exists(`${prefix}:{ann}:log`)).toBe(0);
  });
});

describe("the command stats", () => {
  it("counts sessions and messages, and measures a sample", async () => {
    const { memory, command } = place();
    await weatherTalk(memory, "ann");
    await memory.history("bob").addMessages([human("hi")]);
    const [figures] = jsonLines((await command("stats", "--json")).output);
    expect(figures).toMatchObject({ sessions: 2, messages: 8, expiring: 2, length: { max: 7 } });
    expect(figures).toMatchObject({ biggest: [{ sessionId: "ann", messages: 7 }, { sessionId: "bob" }] });
    expect((figures as { memory: { perMessage: number } }).memory.perMessage).toBeGreaterThan(100);
    expect((await command("stats")).output).toMatch(/^sessions +2, 0 with an owner, 2 that expire\nmessages +8\n/);
  });
});

describe("the command watch", () => {
  it("shows messages and reductions as they are written, and ends with Ctrl-C", async () => {
    const { memory, server } = place();
    await weatherTalk(memory, "ann");
    const running = startCommand(["watch", "ann", "--json", "--every", "20", ...server]);
    let output = "";
    running.stdout!.on("data", (text) => (output += String(text)));
    await once(running.stderr!, "data");
    await memory.history("ann").addMessages([human("Paris?"), ai("12 °C.")]);
    while (!output.includes("reduced")) {
      await once(running.stdout!, "data");
    }
    running.kill("SIGINT");
    const [exitCode] = (await once(running, "close")) as [number];
    expect(exitCode).toBe(130);
    const lines = jsonLines(output);
    expect(lines.slice(0, 2)).toEqual([
      expect.objectContaining({ position: 7, kind: "human" }),
      expect.objectContaining({ position: 8, kind: "ai" }),
    ]);
    expect(lines[2]).toMatchObject({ reduced: { before: { messages: 5 }, after: { messages: 3 } } });
  });

  it("says that there is no such session yet, and that it is damaged, once", async () => {
    const { memory, server, key } = place();
    const running = startCommand(["watch", "new", "--json", "--every", "20", ...server]);
    const watching = once(running.stderr!, "data");
    let output = "";
    running.stdout!.on("data", (text) => (output += String(text)));
    const shows = async (text: string) => {
      while (!output.includes(text)) {
        await once(running.stdout!, "data");
      }
    };
    await watching;
    await shows("missing");
    await memory.history("new").addMessages([human("Oslo?"), ai("12 °C.")]);
    await shows('"ai"');
    await client.unlink(key("new", "ids"));
    await shows("damaged");
    await client.unlink(key("new", "state"));
    await shows("its state is gone");
    running.kill("SIGINT");
    await once(running, "close");
    expect(jsonLines(output)).toEqual([
      { missing: true },
      expect.objectContaining({ position: 0 }),
      expect.objectContaining({ position: 1 }),
      { damaged: expect.stringContaining("the index of its messages is gone") as unknown },
      { damaged: expect.stringContaining("its state is gone") as unknown },
    ]);
  });
});
