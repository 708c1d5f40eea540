/** The program of a world's processes, in one file: built as clients of fault runs are, also with a planted defect. */
import type { FinalSession } from "../checking/session-case.js";
import type { FinalThread } from "../checking/check-threads.js";
import type { OwnerList } from "../checking/check-lists.js";
import { openDoors, type Doors } from "../client/doors.js";
import { Lane } from "../client/lane.js";
import { operations } from "../client/operations/all-operations.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import type { SessionPlan } from "../plan/session-plan.js";
import { readListsOf } from "../read-lists.js";
import { readSessionsOf, type WantedSessions } from "../read-sessions.js";
import { readThreadsOf } from "../read-threads.js";
import { StoreError } from "../../../src/base/errors.js";
import { RedisSessionStore } from "../../../src/store/redis-store/redis-session-store.js";
import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { encryption } from "../client/doors.js";
import type { RedisClient } from "../../../src/store/redis/connection.js";
import * as checkpointScripts from "../../../src/langgraph/checkpoint/lua/scripts.js";
import * as laterScripts from "../../../src/store/redis/lua/later-scripts.js";
import * as scripts from "../../../src/store/redis/lua/scripts.js";
import { firstScripts } from "../../../src/store/redis/script-runner.js";
import { tiktokenCounter } from "../../../src/conversation/tokens/counters/tiktoken-counter.js";
import type { Random } from "../../testkit/random.js";

export { scenarioOf, smallScenarioOf } from "./scenario.js";

/** The names of scripts, by their hashes and by their texts. */
export function scriptNames(): ReadonlyMap<string, string> {
  const all = Object.entries({ ...scripts, ...laterScripts, ...checkpointScripts });
  return new Map(
    all.flatMap(([name, value]) =>
      typeof value === "object"
        ? ([value.sha, value.source] as const).map((text) => [text, name.replace(/Script$/, "")])
        : [],
    ),
  );
}

/** Loads what would be read from disk at its first use, at a time that no seed decides. */
export async function warmUp(): Promise<void> {
  await Promise.all([tiktokenCounter().countText("warm"), firstScripts()]);
}

/** The application in a process: its lanes, one for each session, share a store. */
export class Application {
  readonly #store: RedisSessionStore;
  readonly #journal: JournalWriter;
  readonly #doors: Doors[] = [];

  constructor(client: RedisClient, journal: JournalWriter, { keepsViews }: { readonly keepsViews: boolean }) {
    this.#store = new RedisSessionStore({ client, commandTimeout: 2_500, ...(!keepsViews && { viewCacheBytes: 0 }) });
    this.#journal = journal;
  }

  /** A client at work on one session. */
  open(
    plan: SessionPlan,
    { process, name, longest }: { readonly process: number; readonly name: () => string; readonly longest: number },
  ): Lane {
    const doors = openDoors(plan, { store: this.#store, journal: this.#journal });
    this.#doors.push(doors);
    return new Lane(plan, doors, { journal: this.#journal, name, process, longest });
  }

  /** Does what an operation says. */
  async work(lane: Lane, operation: string, random: Random): Promise<void> {
    await operations.find(({ name }) => name === operation)!.run(lane, random);
  }

  /** Waits for what goes on behind calls that were answered. */
  async drain(): Promise<void> {
    await Promise.all(this.#doors.map(({ memory }) => memory.drain()));
  }
}

/** The contents of sessions, lists and threads in the end. */
export interface Ending {
  readonly sessions: readonly FinalSession[];
  readonly lists: readonly OwnerList[];
  readonly threads: readonly FinalThread[];
}

/** The sessions, lists and threads to read when all is over. */
export interface WantedEnding extends WantedSessions {
  readonly owners: readonly string[];
  readonly threads: readonly string[];
  /** Sessions that lost a key, with their owners; they are derived anew from their logs first. */
  readonly damaged: ReadonlyMap<string, string | undefined>;
}

/** Reads all that there is, by a client that knows nothing yet. */
export async function readEnding(
  client: RedisClient & { exists(id: string): Promise<number>; expiries(id: string): Promise<number[]> },
  { slots, ...wanted }: WantedEnding & { readonly slots: ReadonlyMap<string, number> },
): Promise<Ending> {
  const store = new RedisSessionStore({ client, commandTimeout: 60_000 });
  const memory = new RedisChatMemory({ store, encryption });
  for (const [id, owner] of wanted.damaged) {
    await memory
      .history(id)
      .rebuild()
      .catch(async (error: unknown) => {
        if (owner === undefined || !StoreError.isInstance(error) || error.code !== "damaged") {
          throw error;
        }
        // Two keys were lost, and with them the owner's name.
        await memory.history(id).rebuild({ owner });
      });
  }
  const countKeys = (id: string) => client.exists(id);
  const expiriesOf = (id: string) => client.expiries(id);
  const place = { store, slotOf: async (id: string) => slots.get(id), countKeys, expiriesOf };
  const sessions = await readSessionsOf(place, wanted);
  return {
    sessions: sessions.map((session) => ({ ...session, wasRebuilt: wanted.damaged.has(session.id) })),
    lists: wanted.owners.length === 0 ? [] : await readListsOf(store, wanted.owners),
    threads: await readThreadsOf(store, wanted.threads),
  };
}
