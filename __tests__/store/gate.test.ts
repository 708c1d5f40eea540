import { join } from "node:path";
import { assemble, luaFolder, luaNames, parseLua, readsFrom } from "../../scripts/lua/assemble.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { gatedMethods } from "../../testing/session-store/refusal-cases.js";

const root = join(__dirname, "../..");

/** Scripts of a session that let callers in unasked, without a reason in their comment. */
function ungated(scripts: readonly string[], read = readsFrom(root)): string[] {
  return scripts.filter((name) => {
    const { header, lines } = parseLua(read(`${luaFolder}/${name}.lua`));
    const text = header.join("\n");
    const isOfSession = /^-- KEYS: .*\bstate\b/m.test(text);
    const parts = assemble(name, read).parts.map(({ file }) => file);
    const asks = parts.includes("includes/gate.lua") && /\bgate\(/.test(lines.join("\n"));
    return isOfSession && !asks && !/^-- No gate: /m.test(text);
  });
}

describe("The gate", () => {
  it("stands in every script that is given a session's state", () => {
    expect(luaNames(root, luaFolder).length).toBeGreaterThan(30);
    expect(ungated(luaNames(root, luaFolder))).toEqual([]);
  });

  it.each([
    ["forgets it", "-- KEYS: log, ids, state.\n\nreturn { 'OK', redis.call('HGET', KEYS[3], 'head') }"],
    ["includes it and does not ask", "-- KEYS: state.\n--- @include gate\n\nreturn { 'OK' }"],
  ])("is missed in a script that %s", (_, text) => {
    const read = (path: string) => (path.endsWith("/new.lua") ? text : readsFrom(root)(path));
    expect(ungated(["new"], read)).toEqual(["new"]);
  });

  it("has a case for every method of a store that concerns a session", () => {
    const store = new InMemorySessionStore();
    const own = methodsOf(store);
    const inside = Object.entries(store).flatMap(([part, value]) =>
      typeof value === "object" && value !== null ? methodsOf(value as object).map((name) => `${part}.${name}`) : [],
    );
    const covered = new Set(gatedMethods.map(({ name }) => name));
    expect([...own, ...inside].filter((name) => !covered.has(name) && !(name in elsewhere)).sort()).toEqual([]);
    expect(covered.size).toBeGreaterThan(20);
  });
});

/** Methods that the table of refusals leaves out, each with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  close: "concerns the store",
  "beside.acquireLease": "shows and changes nothing of the session",
  "beside.releaseLease": "the token says who may",
  "beside.renewHold": "the ticket says who may",
  "beside.giveBackHold": "the ticket says who may",
  "copies.create": "the session does not exist yet: copy-cases.ts",
  "lists.list": "concerns an owner",
  "lists.count": "concerns an owner",
  "lists.eraseOwner": "concerns an owner",
  "lists.scan": "concerns all sessions",
  "lists.reindex": "concerns all sessions",
  "lists.flush": "concerns all sessions",
};

function methodsOf(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object);
  return Object.getOwnPropertyNames(prototype === Object.prototype ? {} : prototype)
    .filter((name) => name !== "constructor")
    .filter((name) => typeof (object as Record<string, unknown>)[name] === "function");
}
