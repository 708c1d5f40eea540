import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { jsonLines } from "../support/built-command.js";
import { commandKey, commandPlaces, withCommandKey } from "../support/command-places.js";
import { ai, human } from "../support/messages.js";

const { client, file, ...places } = commandPlaces("kept");

function place() {
  const { keyPrefix, ...rest } = places.place();
  const sealed = new RedisChatMemory({ client, redis: { keyPrefix }, encryption: { current: commandKey } });
  return { keyPrefix, sealed, ...rest };
}

const talk = [human("Oslo?"), ai("4 °C."), human("Rome?"), ai("18 °C.")];
const damages: Readonly<Record<string, (keys: (part: string) => string) => Promise<unknown>>> = {
  "no state": (keys) => client.del(keys("state")),
  "no ids": (keys) => client.del(keys("ids")),
  "no log": (keys) => client.del(keys("log")),
  "log only": (keys) => client.del(keys("state"), keys("ids")),
  "a log without its front": (keys) => client.lpop(keys("log")),
  "a log without its end": (keys) => client.rpop(keys("log")),
};

describe("export of damaged sessions", () => {
  it.each(Object.keys(damages))("with %s: names it, exits with 1, and import takes it twice", async (name) => {
    for (const seals of [false, true]) {
      const { keyPrefix, memory, sealed, command } = place();
      await memory.history("sound").addMessages(talk);
      const history = (seals ? sealed : memory).history("hurt", { owner: "ann", title: "T" });
      await history.append(talk, { turnId: "t1" });
      await damages[name]!((part) => `${keyPrefix}:{hurt}:${part}`);
      const { exitCode, output, errors } = await command(["export", "--all"], withCommandKey);
      if (seals && name === "log only") {
        // Both hashes that hold its data key are gone.
        expect([exitCode, errors]).toEqual([
          1,
          expect.stringMatching(/^hurt: encrypted with the key .*\n1 session exp/),
        ]);
        continue;
      }
      expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^hurt: damaged: .*\n2 sessions exported, 1 pro/)]);
      const path = file(output);
      const target = place();
      const first = await target.command(["import", path, "--json"], withCommandKey);
      expect([name, first.exitCode, first.output]).toEqual([name, 0, expect.anything()]);
      expect(jsonLines(first.output).find(({ sessionId }) => sessionId === "hurt")).toMatchObject({
        outcome: "imported",
      });
      const again = await target.command(["import", path, "--json"], withCommandKey);
      expect([again.exitCode, again.output]).toEqual([0, expect.anything()]);
      expect(jsonLines(again.output).map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
      const { output: found, exitCode: checked } = await target.command(["check", "--all"], withCommandKey);
      expect([checked, found]).toEqual([0, expect.anything()]);
      await Promise.all([sealed.close(), target.sealed.close()]);
    }
  });
});

describe("import", () => {
  it("encrypts all where there are keys, and nothing else", async () => {
    const { memory, sealed, command } = place();
    await memory.history("open").addMessages(talk);
    await sealed.history("shut", { title: "secret" }).addMessages(talk);
    const path = file((await command(["export", "--all"], withCommandKey)).output);
    for (const setting of [withCommandKey, {}]) {
      const target = place();
      const { output } = await target.command(["import", path], setting);
      expect(output).toContain("2 sessions imported with 8 messages, 0 there already");
      for (const id of ["open", "shut"]) {
        const records = await client.lrange(`${target.keyPrefix}:{${id}}:log`, 0, -1);
        expect(records.map((record) => record.includes('"sealed"'))).toEqual(
          talk.map(() => setting === withCommandKey),
        );
      }
      expect((await target.command(["import", path], setting)).output).toContain("0 sessions imported");
    }
  });

  it("leaves out what the export could not read to its end, names it, and imports the others", async () => {
    const { memory, command } = place();
    await memory.history("a").addMessages(talk);
    const text = (await command(["export", "a"])).output;
    const broken = text.replaceAll('"a"', '"b"').replace(/\{"type":"end".*\n/, "");
    const target = place();
    const { exitCode, output } = await target.command(["import", file(broken + text), "--keep-going"]);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("1 session imported with 4 messages")]);
    expect(output).toContain('session "b": ');
    expect(await target.memory.history("b").getMessages()).toEqual([]);
  });

  it("takes the id of a chat's line for the session where it has no sessionId", async () => {
    const { memory, command } = place();
    const messages = [{ role: "user", content: "hi" }];
    const lines = [{ id: "x", messages }, { id: "y", sessionId: "z", messages }, { id: 7, messages }, { messages }];
    const path = file(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { exitCode, output } = await command(["import", path, "--format", "openai", "--json"]);
    expect([exitCode, jsonLines(output).map(({ sessionId }) => sessionId)]).toEqual([
      0,
      ["x", "z", "7", `${path.replace(/^.*\/|\.jsonl$/g, "")}-4`],
    ]);
    expect(await memory.history("x").getMessages()).toHaveLength(1);
  });
});
