import { byId, listOf } from "./listed-sessions.js";
import { owners, sessions, type ClientCommand, type Clients } from "./client-command.js";

/** What a command gave, with errors as plain data and random tokens by name; lists show what it wrote. */
export async function outcomeOf(clients: Clients, instance: number, command: ClientCommand): Promise<unknown> {
  const store = clients.stores[instance]!;
  try {
    return named((await command(clients, store)) ?? null, clients);
  } catch (error) {
    const { name, code, option, messageId, next } = error as Record<string, unknown>;
    return { error: name, code, option, messageId, next, ...(code === undefined && { thrown: String(error) }) };
  } finally {
    await store.lists.flush();
  }
}

/** All that one client sees of all sessions and lists. */
export async function observed(clients: Clients, instance: number): Promise<unknown> {
  const store = clients.stores[instance]!;
  const [found, lists] = await Promise.all([
    Promise.all(
      sessions.map(async (id) => [
        await store.readView({ id }, { ids: ["m1", "m2"], turn: "turn-name-0001" }),
        await store.lists.describe({ id }),
      ]),
    ),
    Promise.all(owners.map(async (owner) => byId(await listOf(store, owner, 10)))),
  ]);
  return named({ found, lists }, clients);
}

const tokens: ReadonlySet<string> = new Set(["epoch", "rev", "labelVersion", "token"]);
const moments: ReadonlySet<string> = new Set(["time", "createdAt", "updatedAt"]);

function named(value: unknown, clients: Clients): unknown {
  const rename = (key: string, token: unknown): unknown => {
    if (key === "expiresAt") {
      return !clients.clocksStand ? typeof token : `in ${Math.round((Number(token) - Date.now()) / 10_000)}0 s`;
    }
    if (moments.has(key)) {
      return typeof token;
    }
    if (!tokens.has(key) || token === "") {
      return token;
    }
    const known = clients.tokens.get(token) ?? `token ${clients.tokens.size + 1}`;
    clients.tokens.set(token, known);
    return known;
  };
  return JSON.parse(JSON.stringify(value, rename));
}
