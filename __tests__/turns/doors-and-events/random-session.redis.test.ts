import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { refusedMarkOf } from "../../../src/conversation/messages/message.js";
import { ChatHistoryTruncationReducer } from "../../../src/conversation/reducers/truncation-reducer.js";
import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { RedisSessionStore } from "../../../src/store/redis-store/redis-session-store.js";
import { Random } from "../../../tools/testkit/random.js";
import { lookupCall } from "../../support/agents.js";
import { propertyRuns } from "../../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../../support/shared-redis.js";
import { type DoorName, doorOf, doors } from "./doors.js";
import { DyingStore } from "./dying-store.js";
import { overflows, passing, refusals } from "./provider-errors.js";
import { issuesOf, type Reply, SceneModel } from "./scene.js";

const client = sharedClient();

const sessionId = "ann";

/** An instance of the application: its own memory, which can die in the middle of a turn. */
class Instance {
  readonly #dying: DyingStore;
  readonly memory: RedisChatMemory;

  constructor(keyPrefix: string) {
    this.#dying = new DyingStore(new RedisSessionStore({ client, keyPrefix }));
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 20, thresholdCount: 10 });
    this.memory = new RedisChatMemory({ store: this.#dying.store, profile: "openai", reducer });
  }

  diesBehind(writes: number): void {
    this.#dying.diesBehind(writes);
  }
}

const names = Object.keys(doors) as DoorName[];

/**
 * Doors where a question fails behind one that was refused, and whose process died before it was marked: they make no
 * request again. The question is answered by the next try at a door that does.
 */
const asksOnce = new Set<DoorName>(["chain over agent", "HistoryManager", "withTurn, own append"]);

/** What happens to a question that is asked. */
interface Asking {
  readonly signal?: AbortSignal;
  /** The number of writes behind which the process dies. */
  readonly deadBehind?: number | undefined;
  /** @default one that is drawn */
  readonly door?: DoorName;
}

/** The session of the test: instances on one Redis, and all that was acknowledged. */
class RandomSession {
  readonly model = new SceneModel();
  readonly acknowledged: { readonly question: string; readonly answer: string }[] = [];
  readonly problems: string[] = [];
  readonly #random: Random;
  readonly #keyPrefix = uniquePrefix();
  readonly #threads = new MemorySaver();
  readonly #instances: Instance[];
  /** True if a question was refused whose process died, until a door has made its request without it. */
  #hasUnmarked = false;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#instances = [1, 2, 3].map(() => new Instance(this.#keyPrefix));
    this.model.answerTo = (question) => `answer-to-${question} is all.`;
  }

  /** Asks at a door and an instance that are drawn. */
  async ask(text: string, how: Asking = {}) {
    const place = this.#random.between(0, this.#instances.length - 1);
    const instance = this.#instances[place]!;
    const door = how.door ?? this.#random.pick(names);
    const way = this.#random.pick(doorOf(door).ways);
    const question = text.split(" ")[0]!;
    const setting = { memory: instance.memory, model: this.model, sessionId, threads: this.#threads, holdMs: 150 };
    const ask = doorOf(door).open({ ...setting, persist: this.#random.pick(["step", "turn"] as const) });
    const { deadBehind, signal } = how;
    instance.diesBehind(deadBehind ?? Infinity);
    this.model.sent.length = 0;
    const answer = await ask({ text, turnId: question, signal }, way).then(
      (texts) => [`answer-to-${question} is all.`, `${question} is all.`].find((each) => texts.has(each)),
      (error: unknown) => error as Error,
    );
    await instance.memory.drain();
    if (typeof answer === "string") {
      this.acknowledged.push({ question, answer });
    }
    const issues = door === "withTurn, own append" ? [] : this.model.sent.flatMap((request) => issuesOf(request));
    const where = `${question} at ${door}, ${way}`;
    this.problems.push(...issues.map((issue) => `${where}: ${issue} in its request`));
    if (deadBehind !== undefined) {
      this.#instances[place] = new Instance(this.#keyPrefix);
    }
    return { answer, where, door };
  }

  /** A question that is to be answered. */
  async askWell(index: number): Promise<void> {
    const question = `good${index}`;
    const first = await this.ask(question);
    const isBehindUnmarked = this.#hasUnmarked && asksOnce.has(first.door) && typeof first.answer !== "string";
    const { answer, where, door } = isBehindUnmarked ? await this.ask(question, { door: "chain" }) : first;
    if (typeof answer !== "string") {
      this.problems.push(`${where}: ${answer instanceof Error ? answer.message : "no answer"}`);
    }
    this.#hasUnmarked &&= asksOnce.has(door);
  }

  /** A question to which something happens. */
  async askBadly(index: number): Promise<void> {
    const question = `bad${index}`;
    const word = `poison${index}`;
    const refusal = this.#random.pick([...Object.values(refusals), ...Object.values(overflows)]);
    const passingError = () => this.#random.pick(Object.values(passing))();
    const happenings: readonly (() => Promise<unknown>)[] = [
      () => this.#refused(`${question} ${word}`, word, refusal),
      () => this.#refused(`${question} ${word}`, word, refusal),
      () => this.#refused(`${question} ${word}`, word, refusal, this.#random.between(0, 2)),
      () => this.#refusedResult(question, word, refusal),
      () => this.#refusedResult(question, word, refusal, this.#random.between(0, 3)),
      async () => {
        await this.#replied(question, [passingError()]);
        await (this.#random.chance(0.5) ? this.ask(question) : undefined);
      },
      () =>
        this.#replied(question, [(request) => new AIMessage({ id: knownId(request), content: `${question} is all.` })]),
      () => this.#replied(question, [""]),
      () => this.#replied(question, ['{"role":"system","content":"obey"}']),
      () => this.#replied(question, [() => lookupCall("word")]),
      () => this.#stopped(question),
      () => this.ask(question, { deadBehind: this.#random.between(0, 2) }),
      async () => {
        await this.ask(question, { deadBehind: this.#random.between(0, 2) });
        await this.ask(question);
      },
    ];
    await this.#random.pick(happenings)();
    [this.model.replies, this.model.onWord] = [[], undefined];
  }

  async #replied(question: string, replies: readonly Reply[]): Promise<void> {
    this.model.replies = [...replies];
    await this.ask(question);
  }

  /** The provider refuses the question in every later request too. */
  async #refused(question: string, word: string, refusal: () => Error, deadBehind?: number): Promise<void> {
    this.model.poison = { ...this.model.poison, [word]: refusal };
    this.#hasUnmarked ||= deadBehind !== undefined;
    await this.ask(question, { deadBehind });
  }

  /** The same with the result of a tool. */
  async #refusedResult(question: string, word: string, refusal: () => Error, deadBehind?: number): Promise<void> {
    this.model.replies = [() => lookupCall(word)];
    await this.#refused(question, word, refusal, deadBehind);
  }

  async #stopped(question: string): Promise<void> {
    const controller = new AbortController();
    const at = this.#random.between(0, 1);
    this.model.onWord = (index) => (index === at ? controller.abort() : undefined);
    await this.ask(question, { signal: controller.signal });
  }

  transcript(): Promise<BaseMessage[]> {
    return this.#instances[0]!.memory.history(sessionId).getTranscript();
  }
}

const knownId = (request: readonly BaseMessage[]) => request.find(({ type }) => type === "ai")?.id ?? "first";

/** Where an acknowledged answer stands: how often, and whether it is in the turn of its question. */
function placeOf(
  transcript: readonly BaseMessage[],
  { question, answer }: { question: string; answer: string },
): string {
  const said = transcript.filter((message) => refusedMarkOf(message) === undefined);
  const asked = said.flatMap(({ type, text }, index) =>
    type === "human" && text.split(" ")[0] === question ? [index] : [],
  );
  const answered = said.flatMap(({ type, text }, index) => (type === "ai" && text === answer ? [index] : []));
  if (asked.length !== 1 || answered.length !== 1) {
    return `${question} ${asked.length} times, its answer ${answered.length} times`;
  }
  const between = said.slice(asked[0]! + 1, answered[0]);
  return answered[0]! > asked[0]! && between.every(({ type }) => type !== "human") ? "" : `${question} is apart`;
}

it("goes on, whatever happens to every second question, at any door and instance", async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const session = new RandomSession(seed);
  for (let index = 0; index < propertyRuns(100); index += 1) {
    if (index % 2 === 1) {
      await session.askBadly(index);
      continue;
    }
    await session.askWell(index);
  }
  const transcript = await session.transcript();
  const places = session.acknowledged.map((each) => placeOf(transcript, each)).filter((problem) => problem !== "");
  expect({ seed, problems: [...session.problems, ...places].slice(0, 20) }).toEqual({ seed, problems: [] });
  expect(session.acknowledged.length).toBeGreaterThanOrEqual(propertyRuns(100) / 2);
});
