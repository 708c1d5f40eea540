import { jsonLines } from "../support/built-command.js";
import { commandPlaces } from "../support/command-places.js";
import { ai, human } from "../support/messages.js";

const { client, ...places } = commandPlaces("damage");

/** Twenty messages in ten rounds of a session of Ann's, and commands that read it. */
async function place() {
  const { keyPrefix, memory, command } = places.place();
  const history = memory.history("trip", { owner: "ann", title: "Oslo" });
  await history.addMessages(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? human(`q${index}`) : ai(`a${index}`))),
  );
  await memory.drain();
  const key = (part: string) => `${keyPrefix}:{trip}:${part}`;
  return { memory, key, command: (...args: readonly string[]) => command(args) };
}

describe("the command rebuild", () => {
  it("says how many messages are left, and the positions of those that are gone", async () => {
    const { key, command, memory } = await place();
    await client.ltrim(key("log"), 3, -1);
    expect((await command("check", "trip")).output).toContain(
      "trip: damaged: 3 of 20 messages are gone; run rebuild to use what is left",
    );
    expect(await command("rebuild", "trip")).toEqual({
      exitCode: 0,
      output: "trip: rebuilt: 17 of 20 messages are left; positions 0 to 2 are gone.\n",
      errors: "",
    });
    expect((await command("check", "trip")).exitCode).toBe(0);
    await memory.history("trip").addMessages([human("more")]);
  });

  it("names every gap", async () => {
    const { key, command } = await place();
    for (const index of [0, 5, 6, 19]) {
      await client.lset(key("log"), index, "gone");
    }
    await client.lrem(key("log"), 0, "gone");
    const { output } = await command("rebuild", "trip", "--json");
    expect(jsonLines(output)).toEqual([
      {
        ...{ sessionId: "trip", messages: 16, before: 20, unreadable: [], changed: [], removed: false, lost: [] },
        gone: [
          [0, 0],
          [5, 6],
          [19, 19],
        ],
      },
    ]);
  });

  it("says that nothing is lost where only the index was", async () => {
    const { key, command } = await place();
    await client.unlink(key("ids"));
    expect((await command("check", "trip")).output).toContain("the index of its messages is gone; run rebuild");
    expect((await command("rebuild", "trip")).output).toBe("trip: rebuilt with 20 messages, none is lost.\n");
  });

  it("brings the owner back from what is left, and says what the state alone knew", async () => {
    const { key, command } = await place();
    await client.unlink(key("state"));
    const { exitCode, output } = await command("rebuild", "trip");
    expect([exitCode, output]).toEqual([0, expect.stringMatching(/^trip: rebuilt with 20 messages\.\n/)]);
    expect(output).toContain("trip: how many messages there were is not known.\n");
    expect(output).toContain("trip: its title, if it had any, is lost.\n");
    expect(output).not.toContain("owner");
  });

  it("changes nothing where no message is left, unless --yes is given", async () => {
    const { key, command } = await place();
    await client.unlink(key("log"));
    const before = await client.hgetall(key("state"));
    const refused = await command("rebuild", "trip");
    expect([refused.exitCode, refused.output]).toEqual([2, ""]);
    expect(refused.errors).toBe(
      'rebuild: nothing was changed in "trip": all 20 messages are gone, and rebuild cannot bring them back; ' +
        "delete the session, or keep it without messages by rebuild --yes.\n",
    );
    expect(await client.hgetall(key("state"))).toEqual(before);
    expect((await command("check", "trip")).output).toContain("rebuild cannot bring them back");
    const { exitCode, output } = await command("rebuild", "trip", "--yes");
    expect([exitCode, output]).toEqual([0, "trip: rebuilt: 0 of 20 messages are left; positions 0 to 19 are gone.\n"]);
  });

  it("names records that cannot be read, which it keeps, and ends with 1", async () => {
    const { key, command } = await place();
    await client.lset(key("log"), 4, "junk");
    await client.lpop(key("log"));
    const { exitCode, output } = await command("rebuild", "trip");
    expect([exitCode, output]).toEqual([
      1,
      "trip: rebuilt: 19 of 20 messages are left; position 0 is gone.\n" +
        "trip: position 4 cannot be read: it stays in the log, and is passed over.\n",
    ]);
    expect(await client.llen(key("log"))).toBe(19);
  });

  it("is not recommended where the log is another program's, and refuses it", async () => {
    const { key, command } = await place();
    await client.set(key("log"), "text");
    const checked = await command("check", "trip");
    expect([checked.exitCode, checked.output]).toEqual([
      1,
      expect.stringContaining("the key of its log holds another type of value; rebuild cannot help:"),
    ]);
    const { exitCode, errors } = await command("rebuild", "trip");
    expect([exitCode, errors]).toEqual([1, expect.stringContaining("rebuild cannot help: return that key")]);
    expect(await client.get(key("log"))).toBe("text");
  });
});

describe.each([
  ["records", (key: (part: string) => string) => client.ltrim(key("log"), 3, -1), 17],
  ["the index", (key: (part: string) => string) => client.unlink(key("ids")), 20],
  ["the state", (key: (part: string) => string) => client.unlink(key("state")), 20],
  ["the log", (key: (part: string) => string) => client.unlink(key("log")), 0],
  ["its numbers", (key: (part: string) => string) => client.hset(key("state"), { rounds: "-3", base: "99" }), 20],
])("A session that lost %s", (_, damage, left) => {
  it("is marked by sessions, show and stats, without negative figures", async () => {
    const { key, command } = await place();
    await damage(key);
    const sessions = await command("sessions", "--json");
    const [row] = jsonLines(sessions.output);
    expect(row).toMatchObject({ sessionId: "trip", messages: left, damaged: true });
    expect(Number(row!["rounds"])).toBeGreaterThanOrEqual(0);
    const text = (await command("sessions")).output;
    expect(text).toMatch(/^trip .* damaged$/m);
    expect(text).not.toMatch(/ -\d|1970/);
    expect(jsonLines((await command("stats", "--json")).output)[0]).toMatchObject({ sessions: 1, damaged: 1 });
    const shown = await command("show", "trip");
    expect([shown.exitCode, shown.output]).toEqual([0, expect.stringMatching(/^ {2}damaged {5}\S/m)]);
    expect(shown.output).not.toMatch(/ -\d/);
  });
});

it("Warnings alone end check with 4, and only where they are asked for", async () => {
  const { memory, command } = await place();
  await memory.history("greeted").addMessages([ai("Welcome."), human("Hi")]);
  expect((await command("check", "greeted")).exitCode).toBe(0);
  const { exitCode, output } = await command("check", "greeted", "--warnings", "--json");
  expect([exitCode, jsonLines(output).map(({ severity }) => severity)]).toEqual([4, ["warning"]]);
});

describe("A session that is not there", () => {
  it("is named by check, rebuild and export, which end with 1", async () => {
    const { command } = await place();
    expect(await command("check", "trip", "nosuch")).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining("nosuch: missing: there is no session of this id; check --prefix\n"),
    });
    const rebuilt = await command("rebuild", "nosuch");
    expect([rebuilt.exitCode, rebuilt.output]).toEqual([1, ""]);
    expect(rebuilt.errors).toBe('rebuild: there is no session "nosuch". Check --prefix.\n');
    for (const format of ["own", "openai"]) {
      const { exitCode, output, errors } = await command("export", "nosuch", "--format", format);
      expect({ exitCode, output }).toEqual({ exitCode: 1, output: "" });
      expect(errors).toBe("nosuch: there is no session of this id; check --prefix.\n0 sessions exported, 1 problem.\n");
    }
  });
});

describe.each(["ids", "state"])("A session whose %s is another type of value", (part) => {
  it("is named with what helps, and rebuild keeps its messages", async () => {
    const { key, command, memory } = await place();
    await client.unlink(key(part));
    await client.set(key(part), "text");
    const advice = /holds another type of value; rebuild replaces it and uses what is left/;
    expect(await command("check", "trip")).toMatchObject({ exitCode: 1, output: expect.stringMatching(advice) });
    expect(await command("show", "trip")).toMatchObject({
      exitCode: 1,
      output: "",
      errors: expect.stringMatching(advice),
    });
    expect(await command("export", "trip")).toMatchObject({ exitCode: 1, errors: expect.stringMatching(advice) });
    const dry = await command("rebuild", "trip", "--dry-run");
    expect([dry.exitCode, dry.output]).toEqual([0, expect.stringMatching(/^trip: would be rebuilt with 20 messages/)]);
    const { exitCode, output } = await command("rebuild", "trip");
    expect([exitCode, output]).toEqual([0, expect.stringMatching(/^trip: rebuilt with 20 messages/)]);
    expect((await command("check", "trip")).exitCode).toBe(0);
    expect(await memory.history("trip", { owner: "ann" }).getTranscript()).toHaveLength(20);
  });

  it("does not keep reindex from the others, which names it and ends with 1", async () => {
    const { key, command, memory } = await place();
    await memory.history("other", { owner: "bob" }).addMessages([human("Hi")]);
    await memory.drain();
    await client.unlink(key(part));
    await client.set(key(part), "text");
    const problems: string[] = [];
    await memory.sessions.reindex({ onProblem: ({ sessionId, error }) => problems.push(`${sessionId} ${error.code}`) });
    const { exitCode, output } = await command("reindex");
    if (part === "state") {
      expect(problems).toEqual(["trip wrong_type"]);
      expect([exitCode, output]).toEqual([1, expect.stringMatching(/^trip: failed: .*another type of value;.*\n/)]);
      expect(output).toMatch(/agree with 1 session that have an owner; 1 session left as named above\.\n$/);
    } else {
      expect([problems, exitCode]).toEqual([[], 0]);
    }
    expect((await memory.sessions.list({ owner: "bob" })).sessions).toHaveLength(1);
  });
});

it("Times and numbers that are none end no command, and are not shown", async () => {
  const { key, command } = await place();
  const broken = { created: "-1", updated: "xyz", rounds: "1e99", tokens: "NaN", next: "100000" };
  await client.hset(key("state"), broken);
  for (const args of [["sessions"], ["show", "trip"], ["stats"], ["sessions", "--json"], ["show", "trip", "--json"]]) {
    const { exitCode, output } = await command(...args);
    expect([args, exitCode, output]).toEqual([
      args,
      0,
      expect.not.stringMatching(/NaN|null|19[67]\d-|-1\b|RangeError/),
    ]);
    expect(output).not.toContain("100,000 messages\n");
  }
});

it("Show names the records that it leaves out, and ends with 1", async () => {
  const { key, command } = await place();
  await client.lset(key("log"), 2, "junk");
  await client.hset(key("state"), { head: "{broken", reduced: "1" });
  const { exitCode, errors } = await command("show", "trip");
  expect(exitCode).toBe(1);
  expect(errors).toContain("Not shown: The record at position 2 cannot be read: it is not JSON.\n");
  expect(errors).toContain("Not shown: The head of the view cannot be read");
});

describe("Export of a session of which messages cannot be read", () => {
  it.each(["own", "openai"])("says so once, and that it is not whole (%s)", async (format) => {
    const { key, command } = await place();
    await client.hset(key("state"), { base: "99", next: "-5" });
    const { exitCode, errors } = await command("export", "trip", "--format", format);
    expect(exitCode).toBe(1);
    expect(errors).toMatch(/^trip: damaged: only 0 of the 20 messages that are left can be read; run rebuild, .*\n/);
    expect(errors).toMatch(/^[^\n]*\n\d sessions? exported, 1 problem\.\n$/);
  });
});
