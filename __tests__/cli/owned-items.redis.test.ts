import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { commandPlaces } from "../support/command-places.js";
import { jsonLines } from "../support/built-command.js";
import { human } from "../support/messages.js";

const { client, place, file } = commandPlaces("items");

async function written() {
  const at = place();
  const store = new RedisStore({ client, keyPrefix: at.keyPrefix });
  await at.memory.history("s", { owner: "ann" }).addMessages([human("Hi")]);
  await store.put(["users", "ann"], "k", { said: "hello" });
  await store.put(["users", "bob"], "k", { said: "stays" });
  await at.memory.drain();
  return { ...at, store };
}

describe("the items of an owner", () => {
  it("are deleted with --namespace, and named as not asked without it", async () => {
    const { command, store } = await written();
    expect((await command(["delete", "--owner", "ann", "--yes"])).output).toBe(
      "ann: 1 session deleted, items not asked (--namespace)\n",
    );
    const owned = ["delete", "--owner", "ann", "--namespace", "users.ann", "--namespace", "notes.ann"];
    expect(await command([...owned, "--yes", "--json"])).toMatchObject({
      exitCode: 0,
      output: '{"owner":"ann","sessions":0,"items":1}\n',
    });
    expect(await command([...owned, "--yes"])).toMatchObject({
      exitCode: 5,
      output: "ann: 0 sessions deleted, 0 items\n",
    });
    expect(await store.search([])).toHaveLength(1);
  });

  it("are exported with --namespace, all with --all, and imported again", async () => {
    const { command } = await written();
    const own = await command(["export", "--owner", "ann", "--namespace", "users.ann"]);
    expect(own.errors).toContain("1 session and 1 item exported.");
    const all = await command(["export", "--all"]);
    expect(all.errors).toContain("1 session and 2 items exported.");
    const other = place();
    expect((await other.command(["import", file(all.output)])).output).toContain("\n2 items imported.\n");
    const items = await new RedisStore({ client, keyPrefix: other.keyPrefix }).search(["users"]);
    expect(items.map(({ value }) => value)).toEqual([{ said: "hello" }, { said: "stays" }]);
  });

  it.each([
    [["delete", "s", "--namespace", "users.ann", "--yes"], "--namespace needs --owner"],
    [["export", "--all", "--namespace", "users.ann"], "--namespace needs --owner"],
    [["delete", "--owner", "ann", "--namespace", "users..ann", "--yes"], "labels joined by periods"],
  ])("%j is refused", async (args, sentence) => {
    const { command } = await written();
    const { exitCode, errors } = await command(args);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining(sentence)]);
  });

  it("are checked with everything else", async () => {
    const { command, keyPrefix } = await written();
    expect((await command(["check", "--all"])).exitCode).toBe(0);
    const values = `${keyPrefix}:{store:items}:values`;
    await client.hset(values, "users\0ann\0\0k", "1|1||no JSON");
    const { exitCode, output } = await command(["check", "--all", "--json"]);
    expect([exitCode, jsonLines(output)[0]]).toEqual([
      1,
      { kind: "item", problem: "unreadable", severity: "error", detail: expect.stringContaining("Item users ann k") },
    ]);
    await client.unlink(values);
    expect((await command(["check", "--all"])).output).toContain(
      "item: unreadable: A part of the RedisStore is missing",
    );
  });
});
