import { FakeListChatModel } from "@langchain/core/utils/testing";
import { redisMemoryMiddleware } from "../src/doors/agent/middleware.js";
import { HistoryManager } from "../src/doors/tool-loop/history-manager.js";
import {
  approximateCounter,
  ChatHistoryRoundReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  ChatMemoryModule,
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  RedisChatMessageHistory,
  tiktokenCounter,
  withRedisMemory,
} from "../src/entries/index.js";
import { conversationGuard, repairConversation } from "../src/entries/structure.js";
import type { MemorySettings } from "../src/memory/session/memory-context.js";
import type { StoreSource } from "../src/memory/session/open-store.js";
import { RedisSessionStore } from "../src/store/redis-store/redis-session-store.js";

interface Owner {
  readonly make: (options: never) => unknown;
  /** Options that are right. */
  readonly right: object;
  /** Values that are wrong, by the option's name or by the path of names to it. */
  readonly wrong: Readonly<Record<string, readonly unknown[]>>;
  /** Options that are wrong together, by the one that the error names. */
  readonly together?: readonly (readonly [option: string, options: object])[];
}

const store = new InMemorySessionStore();
const memory = new RedisChatMemory({ store });
const history = memory.history("s");
const model = new FakeListChatModel({ responses: [] });
const url = "redis://user:SECRET@127.0.0.1:1";
/** What is no positive whole number, and what is no whole number from 0 on. */
const numbers = [0, -1, 1.5, "7", Number.NaN, Number.POSITIVE_INFINITY, null, true];
const fromZero = numbers.slice(1);
const prefixes = ["", "app{x}", "{", "a}b", "a b", "a\nb", 7, null];
// A timer takes no more, and would end at once.
const times = [...numbers, 2 ** 31];
const counting = { countMessage: () => 1, countText: () => 1 };
const counters = [
  {},
  null,
  ({ length }: string) => length,
  counting,
  { ...counting, id: "mine", perRequest: Number.NaN },
];

/** Wrong values of each option of a memory: the compiler asks for those of a new one. */
const ofMemory: Readonly<Record<keyof (MemorySettings & StoreSource), readonly unknown[]>> = {
  ...{
    sessionTTL: numbers,
    reduceWhen: [true],
    retention: ["forever", { discard: { ids: 1 } }],
    reducer: [{}, 7, null],
  },
  ...{
    onEvent: ["log"],
    onConflict: ["replace"],
    onDamage: ["ignore"],
    tokenCounter: counters,
    beforeStore: ["redact"],
  },
  ...{ titles: ["gpt", null], store: [{}], profile: [null, "unknown"], url: [url], redis: [{ keyPrefix: "x" }] },
  ...{ client: [{}], config: [{}], encryption: [{}, "key"], trackUsage: ["yes", 1], ownerNamespaces: [["users"]] },
};

const owners: Readonly<Record<string, Owner>> = {
  "a memory": {
    make: (options) => new RedisChatMemory(options),
    right: { store },
    wrong: {
      ...ofMemory,
      ...{ "sessionTTL.seconds": numbers, "onDamage.record": ["throw"], "titles.model": ["gpt", {}], sessionTtl: [60] },
    },
    together: [
      ["sessionTTL.refreshOnRead", { sessionTTL: { seconds: 60, refreshOnRead: "yes" } }],
      ["sessionTTL.seconds", { sessionTTL: { refreshOnRead: true } }],
    ],
  },
  "a memory of a server": {
    make: (options) => new RedisChatMemory(options),
    right: { url },
    wrong: {
      ...{ "redis.commandTimeout": times, "redis.waitReplicas": numbers, "redis.keyPrefix": prefixes },
      ...{ "redis.limits.maxMessageBytes": numbers, "redis.limits.maxAppendBytes": numbers, client: [{}] },
    },
    together: [["url", { url: { url } }]],
  },
  "a history": {
    make: (options) => new RedisChatMessageHistory(options),
    right: { store, sessionId: "s" },
    wrong: { sessionId: [undefined, "", 7, null] },
  },
  "a store": {
    make: (options) => new RedisSessionStore(options),
    right: { url },
    wrong: {
      ...{ keyPrefix: prefixes, commandTimeout: times, waitReplicas: numbers, limits: numbers, onEvent: ["log"] },
      ...{ "limits.maxMessageBytes": numbers, "limits.maxAppendBytes": numbers, sessionTTL: [60] },
      ...{ maxMessageBytes: [100], maxAppendBytes: [100] },
    },
    together: [7, []].map((config) => ["config", { url: undefined, config }] as const),
  },
  "a store in memory": {
    make: (options) => new InMemorySessionStore(options),
    right: {},
    wrong: {
      ...{ "limits.maxMessageBytes": numbers, "limits.maxAppendBytes": numbers, "limits.messageBytes": [100] },
      ...{ limits: [0, null], maxMessageBytes: [100], now: [5], onEvent: ["log"], ttl: [5] },
    },
  },
  "a reducer by count": {
    make: (options) => new ChatHistoryTruncationReducer(options),
    right: { targetCount: 3 },
    wrong: {
      ...{ targetCount: [...numbers, undefined], thresholdCount: fromZero, systemMessages: ["none"] },
      ...{ pin: ["all"], target: [3] },
    },
  },
  "a reducer by rounds": {
    make: (options) => new ChatHistoryRoundReducer(options),
    right: { targetRounds: 1 },
    wrong: { targetRounds: [...numbers, undefined], thresholdRounds: fromZero, cutAt: ["turn"] },
  },
  "a reducer by tokens": {
    make: (options) => new ChatHistoryTokenReducer(options),
    right: { maxTokens: 10 },
    wrong: {
      ...{
        maxTokens: [...numbers, undefined],
        targetTokens: [11, 0],
        tokenCounter: counters,
        clipToolResults: ["yes"],
      },
      ...{ onOverBudget: ["ignore"], systemMessages: [null], max: [10] },
    },
  },
  "a reducer of tool results": {
    make: (options) => new ChatHistoryToolResultReducer(options),
    right: { keepLast: 1 },
    wrong: {
      ...{ keepLast: [...fromZero, undefined], thresholdCount: fromZero, maxCharacters: numbers },
      ...{ keep: [1] },
    },
  },
  "a reducer by summaries": {
    make: (options) => new ChatHistorySummarizationReducer(options),
    right: { model, targetCount: 1 },
    wrong: {
      ...{ model: [undefined, "gpt"], targetCount: [...numbers, undefined], thresholdCount: fromZero },
      ...{ targetTokens: [1], summaryRole: ["assistant"], summarizationInstructions: [""], failOnError: ["no"] },
      ...{ timeout: times, maxInputTokens: [10], maxSummaries: [1], useSingleSummary: [null], instructions: ["x"] },
    },
    together: [
      ["targetCount", { maxTokens: 100 }],
      ["thresholdCount", { targetCount: undefined, maxTokens: 100, thresholdCount: 1 }],
      ["targetTokens", { targetCount: undefined, maxTokens: 10, targetTokens: 20 }],
    ],
  },
  "a context window": {
    make: (options) => contextWindow(options),
    right: {},
    wrong: {
      ...{ safetyMargin: [1], target: [0], trigger: [{}], "summary.model": ["alive"] },
      ...{ maxTokens: [100] },
    },
    together: [["reserveForAnswer", { maxInputTokens: 100, reserveForAnswer: 100 }]],
  },
  "a HistoryManager": {
    make: (options) => new HistoryManager(options),
    right: { history, maxInputTokens: 1_000 },
    wrong: {
      ...{ maxInputTokens: [0], percentForUploadedContent: [1.1], safetyMargin: [1], history: [{}] },
      ...{ tokenCounter: counters, maxHistoryTokens: [1], onOverBudget: ["ignore"], profile: ["antropic"] },
    },
  },
  "a ChatMemoryModule": {
    make: (options) => new ChatMemoryModule(options),
    right: { history },
    wrong: { nRounds: numbers, maxContext: numbers, format: ["xml"], rounds: [3] },
    together: [["maxContext", { maxContext: 1, format: "json" }]],
  },
  "a chain": {
    make: (options) => withRedisMemory(model, options),
    right: { memory },
    wrong: { memory: [{}], historyMessagesKey: [""], historyKey: ["x"], sessionId: [7, ""] },
  },
  "a guard": {
    make: (options) => conversationGuard(options),
    right: {},
    wrong: {
      ...{ mode: ["fix"], profile: ["nobody", { name: "mine", rules: { S99: "error" } }], purpose: ["fun"] },
      ...{ leadingMessages: ["keep"], leadingMessage: ["drop"], onRepairs: [7], onIssues: ["log"], onIssue: [1] },
    },
  },
  "a repair": {
    make: (options) => repairConversation([], options),
    right: {},
    wrong: {
      ...{ trailingMessages: [null], purpose: ["fun"] },
      ...{ hasTools: ["yes"], storesReasoning: [1] },
    },
  },
  "a counter of OpenAI's tokens": {
    make: (options) => tiktokenCounter(options),
    right: {},
    wrong: { encoding: ["p50k_base", null], tools: ["all"], encodign: ["o200k_base"] },
    together: [["tools.0", { tools: [1] }]],
  },
  "an approximate counter": {
    make: (options) => approximateCounter(options),
    right: {},
    wrong: { encoding: ["o200k_base"] },
  },
  "a middleware": {
    make: (options) => redisMemoryMiddleware(options),
    right: { memory },
    wrong: { sessionId: [7, ""] },
  },
};

/** An object with a value at the end of a path. */
const at = (path: string, value: unknown): object =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

const rows = Object.entries(owners).flatMap(([name, { make, right, wrong, together = [] }]) => [
  ...Object.entries(wrong).map(([option, values]) => ({
    name,
    make,
    right,
    option,
    all: values.map((value) => at(option, value)),
  })),
  ...together.map(([option, options]) => ({ name, make, right, option, all: [options] })),
]);

describe.each(rows)("the option $option of $name", ({ make, right, option, all }) => {
  it.each(all)("is refused by name, and no secret is shown: %j", (options) => {
    const expected = {
      ...{ name: "ConfigurationError", code: "invalid_option", option: expect.stringContaining(option) as string },
      message: expect.not.stringContaining("SECRET") as string,
    };
    expect(() => make({ ...right, ...options } as never)).toThrow(expect.objectContaining(expected) as Error);
  });
});
