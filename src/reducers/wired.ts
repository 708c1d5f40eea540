import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { prefixKey, stampAnswer } from "../structure/ledger/walk-ledger.js";
import { toModel } from "../structure/seam/to-model.js";
import { messagesOf, type ReducerInput } from "./chat-history-reducer.js";

/**
 * A chat model for chains whose input is made ready for it by `toModel`, and whose answers bear the stamp by which
 * their thoughts are known again. Streams, also in chains.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { wired } from "langchain-redis-memory/structure";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * export const chain = prompt.pipe(wired(new ChatAnthropic({ model: "claude-opus-5-5" })));
 */
export function wired<Answer extends BaseMessage>(
  model: Runnable<BaseLanguageModelInput, Answer>,
): Runnable<ReducerInput, Answer> {
  return new Wired(model);
}

class Wired<Answer extends BaseMessage> extends Runnable<ReducerInput, Answer> {
  override lc_namespace = ["langchain_redis_memory", "reducers"];
  readonly #model: Runnable<BaseLanguageModelInput, Answer>;

  constructor(model: Runnable<BaseLanguageModelInput, Answer>) {
    super();
    this.#model = model;
  }

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "Wired";
  }

  override async invoke(input: ReducerInput, config?: Partial<RunnableConfig>): Promise<Answer> {
    const { messages, prefix } = await this.#ready(input, config);
    const answer = await this.#model.invoke(messages, config);
    return prefix === undefined ? answer : stampAnswer(answer, prefix);
  }

  override async *_streamIterator(input: ReducerInput, config?: Partial<RunnableConfig>): AsyncGenerator<Answer> {
    const { messages, prefix } = await this.#ready(input, config);
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await this.#model.stream(messages, config)) {
      const piece = chunk as unknown as AIMessageChunk;
      whole = prefix === undefined ? undefined : whole === undefined ? piece : whole.concat(piece);
      yield chunk;
    }
    const stamped = prefix === undefined || whole === undefined ? whole : stampAnswer(whole, prefix);
    if (whole !== undefined && stamped !== whole) {
      yield stampChunk(stamped!) as unknown as Answer;
    }
  }

  #ready(input: ReducerInput, config: object | undefined) {
    return toModel(messagesOf(input), { model: this.#model, ...(config !== undefined && { config }) });
  }
}

/** A last piece of a streamed answer, which adds its stamp to the pieces before it. */
function stampChunk({ id, response_metadata }: AIMessageChunk): AIMessageChunk {
  const metadata = { [prefixKey]: response_metadata[prefixKey] as unknown };
  return new AIMessageChunk({ content: [], response_metadata: metadata, ...(id !== undefined && { id }) });
}
