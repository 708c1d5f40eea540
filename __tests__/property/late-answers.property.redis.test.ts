import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import fc from "fast-check";
import { summaryMarkOf } from "../../src/conversation/messages/message.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { addCoverage, coverageIn, coverageOf, coverageText } from "../../tools/faults/journal/coverage.js";
import { type Token, tokensIn, tokenText } from "../../tools/faults/journal/runs.js";
import { ai, human, tool } from "../support/messages.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

/** One write of somebody, or none. `pick` chooses among the open turns or the stored messages. */
type Write =
  | { readonly kind: "whole"; readonly rounds: number }
  | { readonly kind: "ask" }
  | { readonly kind: "step" | "answer" | "retry"; readonly pick: number };

type Command =
  | Write
  | { readonly kind: "reduce"; readonly meanwhile: readonly Write[] }
  | { readonly kind: "rewind" | "fork"; readonly pick: number };

/** What clients do to one session, and how it is kept small. */
interface Scene {
  readonly reducer: "truncation" | "tokens" | "summary" | "summaries";
  readonly size: number;
  readonly retention: "keep" | "discard";
  /** Whether, and when, writes reduce the view too. */
  readonly reduceWhen: "between-turns" | "always" | "never";
  readonly commands: readonly Command[];
}

const pick = fc.nat(1_000);

const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ kind: fc.constant("whole" as const), rounds: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("ask" as const) }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("step", "answer", "answer", "retry"), pick }) },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: write },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("reduce" as const), meanwhile: fc.array(write, { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("rewind", "fork"), pick }) },
);

const anyScene: fc.Arbitrary<Scene> = fc.record({
  reducer: fc.constantFrom("truncation", "tokens", "summary", "summaries"),
  size: fc.integer({ min: 1, max: 6 }),
  retention: fc.constantFrom("keep", "discard"),
  reduceWhen: fc.constantFrom("between-turns", "always", "never"),
  commands: fc.array(command, { minLength: 6, maxLength: 30, size: "max" }),
});

/** Says which messages it was shown, and what the summaries before said: the text tells what it stands for. */
const summaryModel = RunnableLambda.from((messages: BaseMessage[]) => {
  const { text } = messages.at(-1)!;
  const [before = "", after = ""] = text.split("<messages>");
  const isAlone = text.includes("Write a summary of the messages only") || !text.includes("<summary_so_far>");
  const soFar = isAlone ? coverageIn("") : coverageIn(before);
  return coverageText(addCoverage(soFar, coverageOf(tokensIn(after))));
});

function reducerOf({ reducer, size }: Scene): ChatHistoryReducer {
  const counts = { targetCount: size, thresholdCount: 2 };
  switch (reducer) {
    case "truncation":
      return new ChatHistoryTruncationReducer(counts);
    case "tokens":
      return new ChatHistoryTokenReducer({ maxTokens: 40 * size + 30, tokenCounter: approximateCounter() });
    case "summary":
      return new ChatHistorySummarizationReducer({ ...counts, model: summaryModel });
    case "summaries":
      return new ChatHistorySummarizationReducer({
        ...counts,
        ...{ model: summaryModel, useSingleSummary: false, maxSummaries: 2 },
      });
  }
}

/** Each text begins with the place of its message in its turn. */
function textOf(turn: string, index: number): string {
  return `${tokenText({ turn, index })} said`;
}

interface Turn {
  readonly name: string;
  /** Messages that are stored. */
  count: number;
  isDone: boolean;
}

/** One session with the clients that write to it, and what it should hold. */
class LateAnswers {
  /** Each message that was ever stored, oldest first, those that were discarded too. */
  log: string[] = [];
  readonly #scene: Scene;
  readonly #store: SessionStore;
  readonly #reducer: ChatHistoryReducer;
  #history: RedisChatMessageHistory;
  /** A client that never reduces. */
  #other: RedisChatMessageHistory;
  /** What is written while a reducer thinks. */
  #meanwhile: readonly Write[] = [];
  #turns: Turn[] = [];
  #numbers = 0;
  /** Ids of the view when it was checked last, summaries aside. */
  #shown: readonly string[] = [];
  readonly #known = new Set<string>();

  constructor(scene: Scene, store: SessionStore) {
    this.#scene = scene;
    this.#store = store;
    this.#reducer = reducerOf(scene);
    const reduce = this.#reducer.reduceWithOutcome.bind(this.#reducer);
    this.#reducer.reduceWithOutcome = async (...given) => {
      const outcome = await reduce(...given);
      const writes = this.#meanwhile;
      this.#meanwhile = [];
      for (const each of writes) {
        await this.#write(each, this.#other);
      }
      return outcome;
    };
    [this.#history, this.#other] = this.#clients("s0");
  }

  /** Carries out one command. */
  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case "reduce":
        this.#meanwhile = command.meanwhile;
        await this.#history.reduceView();
        return;
      case "rewind":
        return this.#rewind(command.pick);
      case "fork": {
        const { next, base } = await this.#view();
        if (next > base) {
          const id = `copy ${(this.#numbers += 1)}`;
          await this.#history.fork(id);
          [this.#history, this.#other] = this.#clients(id);
          // Runs go on in the session in which they began; a copy does not know what was discarded.
          this.#turns = this.#turns.filter(({ isDone }) => isDone && this.#scene.retention === "keep");
        }
        return;
      }
      default:
        return this.#write(command, this.#history);
    }
  }

  async #write(command: Write, history: RedisChatMessageHistory): Promise<void> {
    if (command.kind === "whole") {
      const name = this.#newName("whole");
      const messages = Array.from({ length: 2 * command.rounds }, (_, index) => {
        const [text, id] = [textOf(name, index), `${name}-${index}`];
        return index % 2 === 0 ? human(text, id) : ai(text, { id });
      });
      await history.append(messages, { turnId: name });
      this.#note(name, 0, messages.length);
      return;
    }
    if (command.kind === "ask") {
      const turn = { name: this.#newName("asked"), count: 0, isDone: false };
      this.#turns.push(turn);
      return this.#add(history, turn, [human(textOf(turn.name, 0), `${turn.name}-0`)]);
    }
    const candidates = this.#turns.filter(({ isDone }) => isDone === (command.kind === "retry"));
    const turn = candidates[command.pick % Math.max(1, candidates.length)];
    if (turn === undefined) {
      return;
    }
    const { name, count } = turn;
    if (command.kind === "retry") {
      const again = await history.append([human("again"), ai("another answer")], { turnId: name });
      expect(again).toMatchObject({ appended: 0, repeated: true });
      return;
    }
    turn.isDone = command.kind === "answer";
    const calls = turn.isDone ? [] : [`${name}-call-${count}`];
    const said = ai(textOf(name, count), { calls, id: `${name}-${count}` });
    const results = calls.map((call) => {
      return Object.assign(tool(call, textOf(name, count + 1)), { id: `${name}-${count + 1}` });
    });
    return this.#add(history, turn, [said, ...results]);
  }

  async #add(history: RedisChatMessageHistory, turn: Turn, messages: readonly BaseMessage[]): Promise<void> {
    const settings = { done: turn.isDone, stored: turn.count };
    const outcome = await writeTurn(history, messages, { turnId: turn.name, turn: settings });
    expect(outcome).toMatchObject({ appended: messages.length, repeated: false });
    expect(outcome.refused).toBeUndefined();
    this.#note(turn.name, turn.count, messages.length);
    turn.count += messages.length;
  }

  #newName(kind: "whole" | "asked"): string {
    return `${kind}${(this.#numbers += 1)}`;
  }

  #note(turn: string, from: number, count: number): void {
    for (let index = from; index < from + count; index += 1) {
      this.log.push(`${turn}-${index}`);
    }
  }

  /** Turns that lose a message are left alone from then on. */
  async #rewind(choice: number): Promise<void> {
    const { base, next } = await this.#view();
    if (next > base) {
      const to = base + (choice % (next - base));
      await this.#history.rewind(this.log[to]!);
      const removed = new Set(this.log.splice(to).map((id) => tokenOf(id).turn));
      this.#turns = this.#turns.filter(({ name }) => !removed.has(name));
    }
  }

  #clients(sessionId: string): [RedisChatMessageHistory, RedisChatMessageHistory] {
    const { retention, reduceWhen } = this.#scene;
    const shared = { store: this.#store, sessionId, retention };
    return [
      new RedisChatMessageHistory({ ...shared, reducer: this.#reducer, reduceWhen }),
      new RedisChatMessageHistory(shared),
    ];
  }

  #view() {
    return this.#store.readView({ id: this.#history.sessionId });
  }

  /**
   * Checks what can be read: the transcript is the log from what was discarded on; each message from the start on is in
   * the view, none is there twice; where summaries are written, they and the view stand for each message once.
   * Returns what is seen.
   */
  async check(): Promise<unknown> {
    const { base, start, next } = await this.#view();
    const seen = await this.#history.getMessages();
    const shown = seen.filter((message) => summaryMarkOf(message) === undefined).map(({ id }) => id!);
    const transcript = (await this.#history.getTranscript()).map(({ id }) => id);
    expect({ next, transcript }).toEqual({ next: this.log.length, transcript: this.log.slice(base) });
    expect(new Set(shown).size).toBe(shown.length);
    expect(this.log.slice(start).filter((id) => !shown.includes(id))).toEqual([]);
    const places = shown.map((id) => this.log.indexOf(id));
    expect(places).not.toContain(-1);
    if (this.#scene.reducer === "summary" || this.#scene.reducer === "summaries") {
      const summaries = seen.filter((message) => summaryMarkOf(message) !== undefined);
      const said = summaries.map(({ text }) => coverageIn(text)).reduce(addCoverage, coverageOf(shown.map(tokenOf)));
      expect(said).toEqual(coverageOf(this.log.map(tokenOf)));
    }
    this.#checkOrder(shown, { base, start });
    return seen.map((message) => [summaryMarkOf(message) === undefined ? message.id : "", message.text]);
  }

  /**
   * The view is what it was with the new messages, each behind its turn, or what a reduction leaves of that; where it
   * starts with the log, it may be that in the order of the conversation, after a rewind.
   */
  #checkOrder(shown: readonly string[], { base, start }: { readonly base: number; readonly start: number }): void {
    const added = this.log.filter((id) => !this.#known.has(id));
    const left = this.#shown.filter((id) => this.log.includes(id));
    const possible = [
      ...reductions(left).map((view) => inTurns(view, added)),
      ...reductions(inTurns(left, added)),
      ...(start === base ? [inTurns([], this.log.slice(base))] : []),
    ];
    expect(possible.map(String)).toContain(String(shown));
    this.#shown = shown;
    added.forEach((id) => this.#known.add(id));
  }
}

/** A view to which messages were added: each behind what the view shows of its turn, else at the end. */
function inTurns(view: readonly string[], added: readonly string[]): string[] {
  const ids = [...view];
  for (const id of added) {
    const last = ids.findLastIndex((other) => tokenOf(other).turn === tokenOf(id).turn);
    ids.splice(last < 0 ? ids.length : last + 1, 0, id);
  }
  return ids;
}

/** What reducers may leave of a view: all from some message on, and the newest question before it. */
function reductions(view: readonly string[]): string[][] {
  const cut = view.flatMap((_, from) => {
    const [anchor, kept] = [view.slice(0, from).findLast(isQuestion), view.slice(from)];
    return anchor === undefined ? [kept] : [kept, [anchor, ...kept]];
  });
  return [...cut, []];
}

function isQuestion(id: string): boolean {
  const { turn, index } = tokenOf(id);
  return turn.startsWith("whole") ? index % 2 === 0 : index === 0;
}

function tokenOf(id: string): Token {
  const [turn, index] = id.split("-");
  return { turn: turn!, index: Number(index) };
}

async function seenIn(scene: Scene, store: SessionStore): Promise<unknown[]> {
  const session = new LateAnswers(scene, store);
  const seen: unknown[] = [];
  for (const command of scene.commands) {
    await session.run(command);
    seen.push(await session.check());
  }
  return seen;
}

describe("a session with late answers that is reduced, rewound and copied", () => {
  const client = sharedClient();

  it("shows each message from the start on once, and summaries stand for all before it", () =>
    forAllAsync(60, anyScene, async (scene) => {
      await seenIn(scene, new InMemorySessionStore());
    }));

  it("shows the same in Redis", () =>
    forAllAsync(15, anyScene, async (scene) => {
      const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
      expect(await seenIn(scene, store)).toEqual(await seenIn(scene, new InMemorySessionStore()));
    }));
});
