import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { setImmediate } from "node:timers";
import { lazy, parseOptions } from "../../../base/options.js";
import { estimateCost } from "./approximate-counter.js";
import { type Cost, messageCost, replyTokens } from "../formulas/message-cost.js";
import { TokenTally, Vocabulary, type PackedRanks } from "../encoder/token-tally.js";
import type { TokenCounter } from "../counted-messages.js";
import { toolListSchema, toolsCost, type ToolDefinitionLike } from "../formulas/tools-cost.js";
import { splitCl100k, splitO200k, type Splitter } from "../encoder/split.js";

/** Options of {@link tiktokenCounter}. */
export interface TiktokenCounterOptions {
  /**
   * The model's encoding: `o200k_base` for GPT-4o and later, `cl100k_base` for GPT-4 and GPT-3.5. A fair estimate for
   * models of others.
   *
   * @default "o200k_base"
   */
  readonly encoding?: EncodingName;
  /** Tools that go with each request, as given to `bindTools`; counted once, in `perRequest`. Default: none. */
  readonly tools?: readonly ToolDefinitionLike[];
}

/** A token counter that loads an encoding. */
export interface TiktokenCounter extends TokenCounter {
  /**
   * Loads the encoding now; afterwards `perRequest` is exact and counts of ordinary messages are numbers, not promises.
   */
  ready(): Promise<void>;
}

const optionsSchema = lazy(() =>
  z.strictObject({
    encoding: z._default(z.enum(["o200k_base", "cl100k_base"], 'must be "o200k_base" or "cl100k_base"'), "o200k_base"),
    tools: toolListSchema(),
  }),
);

/**
 * A counter with OpenAI's own tokens: text as tiktoken counts it, messages, tool calls, tool definitions and images by
 * OpenAI's formulas.
 *
 * The encoding comes with js-tiktoken and is loaded when first needed, once per process; nothing is fetched. The first
 * count is a promise, later ones are numbers unless there is much to count: no input, however odd, holds the event loop
 * for long, and time grows with the length alone. Special tokens such as `<|endoftext|>` are ordinary text. With
 * `tools`, `perRequest` is an estimate until the encoding is loaded (`ready()`, or any count), and exact from then on.
 *
 * @throws ConfigurationError for an unknown encoding or a tool that is not an object.
 * @example
 * import { tiktokenCounter } from "langchain-redis-memory";
 *
 * const counter = tiktokenCounter({ encoding: "o200k_base" });
 * const tokens = await counter.countText("How long is this?");
 */
export function tiktokenCounter(options: TiktokenCounterOptions = {}): TiktokenCounter {
  const { encoding, tools } = parseOptions("tiktokenCounter", optionsSchema(), options);
  return new EncodingCounter(encoding, toolsCost(tools, encodings[encoding].perFunction));
}

class EncodingCounter implements TiktokenCounter {
  readonly id: string;
  readonly #encoding: EncodingName;
  readonly #tools: Cost;
  #toolTokens: number | undefined;

  constructor(encoding: EncodingName, tools: Cost) {
    this.#encoding = encoding;
    this.#tools = tools;
    this.id = `tiktoken:${encoding}:1`;
  }

  get perRequest(): number {
    return replyTokens + (this.#toolTokens ?? estimateCost(this.#tools));
  }

  async ready(): Promise<void> {
    await this.#load();
  }

  countMessage(message: BaseMessage): number | Promise<number> {
    return this.#count(messageCost(message));
  }

  countText(text: string): number | Promise<number> {
    return this.#count({ texts: [text], tokens: 0 });
  }

  #count(cost: Cost): number | Promise<number> {
    const tally = this.#toolTokens === undefined ? undefined : loadedTally(this.#encoding);
    return tally === undefined ? this.#load().then((ready) => countCost(ready, cost)) : countCost(tally, cost);
  }

  async #load(): Promise<TokenTally> {
    const tally = await loadTally(this.#encoding);
    this.#toolTokens ??= await countCost(tally, this.#tools);
    return tally;
  }
}

function countCost(tally: TokenTally, { texts, tokens }: Cost): number | Promise<number> {
  const counted = runPaced(tally.steps(texts));
  return typeof counted === "number" ? counted + tokens : counted.then((sum) => sum + tokens);
}

/** Encodings whose tokens can be counted: `o200k_base` (GPT-4o and later), `cl100k_base` (GPT-4, GPT-3.5). */
export type EncodingName = "o200k_base" | "cl100k_base";

interface Encoding {
  readonly split: Splitter;
  /** Tokens of OpenAI's formula at the head of each tool definition. */
  readonly perFunction: number;
  readonly readRanks: () => Promise<{ readonly default: PackedRanks }>;
}

/** Splitter, formula and ranks of each encoding. */
export const encodings: Readonly<Record<EncodingName, Encoding>> = {
  o200k_base: { split: splitO200k, perFunction: 7, readRanks: () => import("js-tiktoken/ranks/o200k_base") },
  cl100k_base: { split: splitCl100k, perFunction: 10, readRanks: () => import("js-tiktoken/ranks/cl100k_base") },
};

const loaded = new Map<EncodingName, TokenTally>();
const loading = new Map<EncodingName, Promise<TokenTally>>();

/** The tally of an encoding if this process has loaded it. */
function loadedTally(name: EncodingName): TokenTally | undefined {
  return loaded.get(name);
}

/**
 * The tally of an encoding, loaded once per process from the installed js-tiktoken (no network), in some 100 ms with
 * pauses in between.
 */
export function loadTally(name: EncodingName): Promise<TokenTally> {
  let promise = loading.get(name);
  if (promise === undefined) {
    promise = read(name);
    loading.set(name, promise);
    promise.catch(() => loading.delete(name));
  }
  return promise;
}

async function read(name: EncodingName): Promise<TokenTally> {
  const { split, readRanks } = encodings[name];
  const { default: ranks } = await readRanks();
  const tally = new TokenTally(await runPaced(Vocabulary.read(ranks)), split);
  loaded.set(name, tally);
  return tally;
}

const millisecondsPerTurn = 10;

let spent = 0;
let queue: Promise<void> = Promise.resolve();

/**
 * Runs steps to their end and gives their result: at once while this turn of the event loop has room for them, else as
 * a promise. Others (timers, sockets) get their turn after each 10 ms of this work, however many calls run at once,
 * because all share one allowance.
 *
 * `node:timers` and not the global function, which tests replace by a fake one.
 */
function runPaced<T>(steps: Generator<undefined, T>): T | Promise<T> {
  const result = runWhileRoom(steps);
  return result?.done === true ? result.value : finishLater(steps);
}

async function finishLater<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    queue = queue.then(nextTurn);
    await queue;
    const result = runWhileRoom(steps);
    if (result?.done === true) {
      return result.value;
    }
  }
}

/** The result, or undefined if the allowance of this turn ran out first. */
function runWhileRoom<T>(steps: Generator<undefined, T>): IteratorReturnResult<T> | undefined {
  const room = millisecondsPerTurn - spent;
  const begin = performance.now();
  let elapsed = 0;
  while (elapsed < room) {
    const step = steps.next();
    elapsed = performance.now() - begin;
    if (step.done === true) {
      spend(elapsed);
      return step;
    }
  }
  spend(elapsed);
  return undefined;
}

function spend(milliseconds: number): void {
  if (spent === 0 && milliseconds > 0) {
    setImmediate(() => (spent = 0));
  }
  spent += milliseconds;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    setImmediate(() => {
      spent = 0;
      resolve();
    }),
  );
}
