import { join } from "node:path";
import { assemble, luaFolder, luaNames, parseLua, readsFrom } from "../../tools/scripts/lua/assemble.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { around } from "../../src/store/contract/groups.js";
import type { SessionRef } from "../../src/store/contract/session-ref.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { gatedMethods } from "../../testing/session-store/refusal-cases.js";

const root = join(__dirname, "../..");

/** Scripts of a session that let callers in unasked, without a reason in their comment. */
function ungated(scripts: readonly string[]): string[] {
  const read = readsFrom(root);
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

  it("has a case for every method of a store that concerns a session", () => {
    expect(uncovered(new InMemorySessionStore())).toEqual([]);
    expect(gatedMethods.length).toBeGreaterThan(20);
  });

  it("has cases besides, which call every method that concerns a session", async () => {
    let now = 0;
    const called = new Set<string>();
    const cases = sessionStoreContract({
      create: () =>
        around(new InMemorySessionStore({ now: () => now }), ({ method }, go) => (called.add(method), go())),
      wait: (milliseconds) => void (now += milliseconds),
    });
    for (const { title, run } of cases) {
      await (title.startsWith("a refused ") ? undefined : run());
    }
    const others = Object.keys(elsewhere).filter((name) => !elsewhere[name]!.startsWith("concerns "));
    const methods = [...gatedMethods.map(({ name }) => name), ...others].map((name) => name.split(".").at(-1)!);
    expect(methods.filter((name) => !called.has(name))).toEqual([]);
  });

  it.each(gatedMethods.map(({ name }) => name))("is missed in a %s that forgets who calls", async (name) => {
    const cases = sessionStoreContract({ create: () => withoutGate(new InMemorySessionStore(), name) });
    const refusals = cases.find(({ title }) => title.startsWith(`a refused ${name} gives `))!;
    await expect(refusals.run()).rejects.toThrow(name);
  });
});

/** Methods that the table of refusals leaves out, each with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  close: "concerns the store",
  "data.acquireLease": "shows and changes nothing of the session",
  "data.releaseLease": "the token says who may",
  "data.renewHold": "the ticket says who may",
  "data.releaseHold": "the ticket says who may",
  "copies.create": "the session does not exist yet: copy-cases.ts",
  "lists.list": "concerns an owner",
  "lists.count": "concerns an owner",
  "lists.eraseOwners": "concerns an owner",
  "lists.scan": "concerns all sessions",
  "lists.reindex": "concerns all sessions",
  "lists.flush": "concerns all sessions",
};

/** Methods of a store, and of its groups, that neither the table of refusals nor `elsewhere` names. */
function uncovered(store: InMemorySessionStore): string[] {
  const inside = Object.entries(store).flatMap(([part, value]) =>
    typeof value === "object" && value !== null ? methodsOf(value as object).map((name) => `${part}.${name}`) : [],
  );
  const covered = new Set(gatedMethods.map(({ name }) => name));
  const chain = [store, Object.getPrototypeOf(store) as object].flatMap(methodsOf);
  return [...new Set([...chain, ...inside])].filter((name) => !covered.has(name) && !(name in elsewhere)).sort();
}

/** The store, with one method that passes on the session's id and nothing that the gate asks for. */
function withoutGate(store: InMemorySessionStore, name: string): InMemorySessionStore {
  const [method, group] = name.split(".").reverse() as [string, string?];
  const target = (group === undefined ? store : store[group as "edits"]) as unknown as Record<string, Method>;
  const inner = target[method]!.bind(target);
  target[method] = ({ id }, ...rest) => inner({ id, keys: {} }, ...rest);
  return store;
}

type Method = (session: SessionRef, ...rest: unknown[]) => unknown;

function methodsOf(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object);
  return Object.getOwnPropertyNames(prototype === Object.prototype ? {} : prototype)
    .filter((name) => name !== "constructor")
    .filter((name) => typeof (object as Record<string, unknown>)[name] === "function");
}
