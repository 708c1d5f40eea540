import fc from "fast-check";
import type { Redis } from "ioredis";
import type { BaseMessage } from "@langchain/core/messages";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { everything, outcome, session, storeCommand, type StoreUnderTest } from "../support/store-commands.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { forAllAsync } from "../support/property-runs.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

describe("RedisSessionStore", () => {
  const client = sharedClient();

  const commands = fc.array(fc.record({ command: storeCommand, instance: fc.nat(1) }), {
    minLength: 1,
    maxLength: 60,
    size: "max",
  });

  it("behaves like the in-memory model for any sequence of commands from two processes", () =>
    forAllAsync(40, commands, async (list) => {
      const keyPrefix = uniquePrefix();
      const model: StoreUnderTest = { store: new InMemorySessionStore(), views: [], tokens: new Map() };
      // Two stores on the same keys: each remembers starts that the other may have moved since.
      const [first, second] = [0, 1].map(() => new RedisSessionStore({ client, keyPrefix }));
      const shared = { views: [], tokens: new Map<string, string>() };
      for (const { command, instance } of list) {
        const real: StoreUnderTest = { store: instance === 0 ? first! : second!, ...shared };
        expect(await outcome(command, real)).toEqual(await outcome(command, model));
        expect(await everything(real)).toEqual(await everything(model));
      }
      await expectOneExpiry(client, keyPrefix);
    }));
});

async function expectOneExpiry(client: Redis, keyPrefix: string): Promise<void> {
  const { log, ids, state } = sessionKeys(keyPrefix, session);
  const times = await Promise.all([log, ids, state].map((key) => client.call("PEXPIRETIME", key) as Promise<number>));
  expect(new Set(times.filter((time) => time !== -2)).size).toBeLessThanOrEqual(1);
}

/** What a turn is made of. */
interface Turn {
  readonly calls: number;
  readonly system: boolean;
}

type Command =
  | { readonly kind: "append"; readonly turn: Turn }
  | {
      readonly kind: "replace";
      readonly turn: Turn;
      /** Where in the transcript the replaced part begins: 0 is the oldest message, 1 the newest. */
      readonly place: number;
      readonly sameId: boolean;
      readonly named: boolean;
      readonly again: boolean;
    }
  | { readonly kind: "refused"; readonly place: number };

const turn = fc.record({ calls: fc.constantFrom(0, 0, 1, 2), system: fc.constantFrom(false, false, false, true) });
// The whole transcript, and its newest messages more often: there the view begins and ends.
const place = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0.7, max: 1, noNaN: true }));
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("append" as const), turn }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant("replace" as const), turn, place },
      ...{ sameId: fc.boolean(), named: fc.boolean(), again: fc.boolean() },
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("refused" as const), place }) },
);

/** The messages of a turn, with ids that begin with its number; the first has another id where one is given. */
function messagesOf({ calls, system: withSystem }: Turn, number: number, first?: string): BaseMessage[] {
  const steps = Array.from({ length: calls }, (_, step) => {
    const [call, answer] = [aiCalls(`${number}-call${step}`), tool(`${number}-call${step}`)];
    return [Object.assign(call, { id: `${number}-c${step}` }), Object.assign(answer, { id: `${number}-t${step}` })];
  });
  const begin = withSystem ? [Object.assign(system(`rules ${number}`), { id: `${number}-s` })] : [];
  const question = human(`question ${number}`, first ?? `${number}-q`);
  return [...begin, question, ...steps.flat(), ai(`answer ${number}`, { id: `${number}-a` })];
}

const shown = (messages: readonly BaseMessage[]) => messages.map(({ id, text, type }) => [id, type, text]);

describe("replaceFrom", () => {
  const client = sharedClient();

  /** Runs the commands on one store; after each, the transcript is the model's. Returns what the model would see. */
  async function run(store: SessionStore, commands: readonly Command[]): Promise<unknown[]> {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 5, thresholdCount: 3 });
    const history = new RedisChatMessageHistory({ store, sessionId: "s", reducer });
    const views: unknown[] = [];
    let model: BaseMessage[] = [];
    for (const [number, each] of commands.entries()) {
      const at = Math.min(model.length - 1, Math.floor(("place" in each ? each.place : 0) * model.length));
      const target = model[at]?.id;
      if (each.kind === "append" || target === undefined) {
        const messages = messagesOf({ calls: 0, system: false, ...("turn" in each && each.turn) }, number);
        await history.append(messages);
        model = [...model, ...messages];
      } else if (each.kind === "refused") {
        const late = history.replaceFrom(target, [human("late")], { expectedNext: model.length + 1 });
        await expect(late).rejects.toMatchObject({ code: "position", next: model.length });
        const unknown = history.replaceFrom("nobody", [human("late")]);
        await expect(unknown).rejects.toMatchObject({ code: "unknown_message" });
      } else {
        const messages = messagesOf(each.turn, number, each.sameId ? target : undefined);
        const options = each.named ? { turnId: `turn-${number}` } : {};
        const outcome = await history.replaceFrom(target, messages, options);
        model = [...model.slice(0, at), ...messages];
        expect(outcome).toEqual({ appended: messages.length, duplicates: 0, next: model.length, repeated: false });
        if (each.again) {
          await expect(history.replaceFrom(target, messages, options)).resolves.toMatchObject({ next: model.length });
        }
      }
      expect(shown(await history.getTranscript())).toEqual(shown(model));
      views.push(shown(await history.getMessages()));
    }
    return views;
  }

  it("leaves what came before and what it was given, anywhere in the session, once, in both stores", () =>
    forAllAsync(25, fc.array(command, { minLength: 2, maxLength: 14, size: "max" }), async (list) => {
      const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
      const views = await run(store, list);
      expect(views).toEqual(await run(new InMemorySessionStore(), list));
    }));
});
