import fc from "fast-check";
import { HistoryManager } from "../src/doors/tool-loop/history-manager.js";
import { ChatMemoryModule } from "../src/memory/histories/chat-memory-module.js";
import { RedisChatMemory } from "../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../src/memory/histories/redis-chat-message-history.js";
import { misspeltName } from "../src/base/options.js";
import { RedisToolInvocationHistory } from "../src/formats/tool-log/tool-invocation-history.js";
import { ChatHistoryTokenReducer } from "../src/conversation/reducers/token-reducer.js";
import { InMemorySessionStore } from "../src/store/in-memory/in-memory-session-store.js";
import { forAll } from "./support/property-runs.js";

const store = new InMemorySessionStore();
const history = new RedisChatMessageHistory({ store, sessionId: "s" });
const connection = ["client", "url", "config", "store", "redis", "encryption", "onEvent"];
const views = ["reducer", "reduceWhen", "retention", "tokenCounter", "profile", "beforeStore"];
const policies = ["sessionTTL", "onConflict", "onDamage", "titles", "trackUsage"];
const memory = [...connection, ...views, ...policies];

interface Owner {
  readonly name: string;
  readonly names: readonly string[];
  make(surplus: object): unknown;
}

const owners: readonly Owner[] = [
  {
    name: "RedisChatMemory",
    names: memory,
    make: (surplus) => new RedisChatMemory({ store, ...surplus }),
  },
  {
    name: "RedisChatMessageHistory",
    names: [...memory, "sessionId"],
    make: (surplus) => new RedisChatMessageHistory({ store, sessionId: "s", ...surplus }),
  },
  {
    name: "RedisToolInvocationHistory",
    names: ["history", "memory", "sessionId", "limit", "maxCharacters"],
    make: (surplus) => new RedisToolInvocationHistory({ history, ...surplus }),
  },
  {
    name: "ChatHistoryTokenReducer",
    names: ["maxTokens", "targetTokens", "tokenCounter", "clipToolResults", "onOverBudget", "systemMessages"],
    make: (surplus) => new ChatHistoryTokenReducer({ maxTokens: 9, ...surplus }),
  },
  {
    name: "ChatMemoryModule",
    names: ["history", "memory", "nRounds", "maxContext", "format", "truncationNotice", "includeTools"],
    make: (surplus) => new ChatMemoryModule({ history, ...surplus }),
  },
  {
    name: "HistoryManager",
    names: ["maxInputTokens", "percentForUploadedContent", "safetyMargin", "tools", "references", "maxSources"],
    make: (surplus) => new HistoryManager({ history, maxInputTokens: 9, ...surplus }),
  },
];

/** A name in which one letter is replaced, inserted, deleted or swapped with the next. */
function typoOf(name: string): fc.Arbitrary<string> {
  const place = fc.nat({ max: name.length - 1 });
  const letter = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz");
  return fc
    .tuple(place, letter, fc.constantFrom("replace", "insert", "delete", "swap"))
    .map(([at, char, kind]) => {
      const [before, rest] = [name.slice(0, at), name.slice(at)];
      return {
        replace: before + char + rest.slice(1),
        insert: before + char + rest,
        delete: before + rest.slice(1),
        swap: before + rest.slice(1, 2) + rest.slice(0, 1) + rest.slice(2),
      }[kind];
    })
    .filter((typo) => typo !== name && typo !== "");
}

describe("an option with a typo", () => {
  it.each(owners)("of one letter is answered with the option that was meant: $name", ({ name, names, make }) => {
    const mistake = fc
      .constantFrom(...names)
      .chain((meant) => typoOf(meant).map((typo) => ({ meant, typo })))
      .filter(({ typo }) => !names.includes(typo));
    forAll(120, mistake, ({ meant, typo }) => {
      const message = `${name}: there is no option "${typo}"; did you mean "${meant}"?`;
      expect(() => make({ [typo]: 3 })).toThrow(
        expect.objectContaining({ code: "invalid_option", option: typo, message }),
      );
    });
  });

  it.each([
    [{ keyPrefix: "x" }, "keyPrefix", 'did you mean "redis.keyPrefix"?'],
    [{ waitReplicas: 1 }, "waitReplicas", 'did you mean "redis.waitReplicas"?'],
    [{ maxAppendBytes: 1 }, "maxAppendBytes", 'did you mean "redis.limits.maxAppendBytes"?'],
    [{ redis: { keyPrefx: "x" } }, "redis.keyPrefx", 'did you mean "keyPrefix"?'],
    [{ sessionTTL: { second: 1 } }, "sessionTTL.second", 'did you mean "seconds"?'],
    [{ refreshTTLOnRead: true }, "refreshTTLOnRead", "remove it or check its spelling."],
    [{ discardedIds: { count: 1 } }, "discardedIds", "remove it or check its spelling."],
  ])("or in the wrong object is refused by name: %j", (surplus, option, advice) => {
    const message = `RedisChatMemory: there is no option "${option}"; ${advice}`;
    expect(() => new RedisChatMemory({ store, ...(surplus as object) })).toThrow(
      expect.objectContaining({ code: "invalid_option", option, message }),
    );
  });

  it("in a word that one form of an option expects is answered with the word that was meant", () => {
    expect(() => new RedisChatMemory({ store, retention: "discrad" as never })).toThrow(
      /"retention" must be "keep" or "discard"; got "discrad"; did you mean "discard"\?$/,
    );
  });

  it("that is in upper or lower case only is recognized", () => {
    expect(misspeltName("sessionttl", ["sessionTTL", "sessionId"])).toBe("sessionTTL");
  });

  it("that is like no option is answered without a suggestion, and shortened", () => {
    const surplus = { ["x".repeat(100_000)]: 1 };
    expect(() => new RedisChatMemory({ store, ...surplus })).toThrow(
      /no option "x{80}…"; remove it or check its spelling\.$/,
    );
    expect(misspeltName("colour", ["url", "store", "limit"])).toBeUndefined();
  });
});

it("a memory has eighteen options", () => {
  expect(memory).toHaveLength(18);
});

describe("errors name what the user wrote", () => {
  it.each([
    [{ url: "redis://localhost", redis: { commandTimeout: 0 } }, "redis.commandTimeout"],
    [{ url: "redis://localhost", redis: { keyPrefix: "{" } }, "redis.keyPrefix"],
    [{ url: "http://localhost" }, "url"],
    [{ client: {} }, "client"],
    [{ config: 7 }, "config"],
    [{}, "client"],
    [{ url: "redis://localhost", config: {} }, "client"],
    [{ store, url: "redis://localhost" }, "url"],
    [{ store, redis: { keyPrefix: "x" } }, "redis"],
    [{ store: {} }, "store"],
  ])("not the store that it makes: %j", (options, option) => {
    const makers = {
      RedisChatMemory: () => new RedisChatMemory(options as never),
      RedisChatMessageHistory: () => new RedisChatMessageHistory({ ...options, sessionId: "s" } as never),
    };
    for (const [name, make] of Object.entries(makers)) {
      const message = expect.stringMatching(new RegExp(`^${name}: `));
      expect(make).toThrow(expect.objectContaining({ code: "invalid_option", option, message }));
    }
  });
});
