import { type BaseMessage, HumanMessage, type ContentBlock } from "@langchain/core/messages";
import { breather, countOf, countTotal } from "../../tokens/counted-messages.js";
import { encodings } from "../../tokens/encoder/encodings.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { toolsCost, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";

/** A part of a message's content: text or an image. */
export type ContentPart = ContentBlock;

/** Counts tokens with one counter: each message once, and without blocking the event loop. */
export class TokenMeter {
  readonly #counter: TokenCounter;
  readonly #tools: readonly ToolDefinitionLike[];
  readonly #breathe = breather();
  readonly #carriers = new WeakMap<readonly ContentPart[], BaseMessage>();
  readonly #empty = new HumanMessage({ content: [] });
  #toolTokens: number | undefined;

  constructor(counter: TokenCounter, tools: readonly ToolDefinitionLike[]) {
    this.#counter = counter;
    this.#tools = tools;
  }

  /** Counts a message. */
  readonly of = async (message: BaseMessage): Promise<number> => {
    const tokens = await countOf(this.#counter, message);
    await this.#breathe();
    return tokens;
  };

  /** Counts several messages. */
  async ofAll(messages: readonly BaseMessage[]): Promise<number> {
    return countTotal(this.#counter, messages);
  }

  /** Counts the tokens that content parts add to a message. */
  async ofParts(parts: readonly ContentPart[]): Promise<number> {
    if (parts.length === 0) {
      return 0;
    }
    let carrier = this.#carriers.get(parts);
    if (carrier === undefined) {
      carrier = new HumanMessage({ content: [...parts] });
      this.#carriers.set(parts, carrier);
    }
    return Math.max(0, (await this.of(carrier)) - (await this.of(this.#empty)));
  }

  /** Counts the tool definitions, and adds the fixed cost of a request. */
  async ofTools(): Promise<number> {
    this.#toolTokens ??= await this.#countTools();
    // Read last, because a counter may know it only after its first count.
    return this.#toolTokens + this.#counter.perRequest;
  }

  async #countTools(): Promise<number> {
    const { texts, tokens } = toolsCost(this.#tools, encodings.o200k_base.perFunction);
    let sum = tokens;
    for (const text of texts) {
      sum += await this.#counter.countText(text);
    }
    return sum;
  }
}
