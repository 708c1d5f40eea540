import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy, parseOptions } from "../../../base/options.js";
import { estimateCost } from "./approximate-counter.js";
import { type Cost, messageCost, replyTokens } from "../formulas/message-cost.js";
import { encodings, loadTally, loadedTally, type EncodingName } from "../encoder/encodings.js";
import { runPaced } from "./paced.js";
import type { TokenTally } from "../encoder/token-tally.js";
import type { TokenCounter } from "../token-counter.js";
import { toolListSchema, toolsCost, type ToolDefinitionLike } from "../formulas/tools-cost.js";

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
