import { AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import type { MemoryEventHandler } from "../../base/events.js";
import { fieldsOf, stringIn } from "../messages/message.js";
import { prefixKey, stampAnswer } from "../structure/ledger.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { reportDropped, reportForeign, type RequestObserver } from "../structure/seam/model-input.js";
import { readyFor, type ToModelResult } from "../structure/seam/to-model.js";
import { messagesOf, type ReducerInput } from "./chat-history-reducer.js";

/** Options of {@link wired}. */
export interface WiredModelOptions {
  /**
   * Receives `thinking_dropped` and `compaction_dropped` where a request goes out without a part, once per change.
   * Their session is that of the run's config, `sessionId` or `thread_id`; an empty text without one. @default none
   */
  readonly onEvent?: MemoryEventHandler;
}

/**
 * A chat model for chains whose input is made ready for it by `toModel`, and whose answers bear the stamp by which
 * their thoughts are known again. Streams, also in chains.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { wired, type WiredModelOptions } from "langchain-redis-memory/structure";
 *
 * const options: WiredModelOptions = { onEvent: (event) => console.info(event) };
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * export const chain = prompt.pipe(wired(new ChatAnthropic({ model: "claude-opus-5-5" }), options));
 */
export function wired<Answer extends BaseMessage>(
  model: Runnable<BaseLanguageModelInput, Answer>,
  options: WiredModelOptions = {},
): Runnable<ReducerInput, Answer> {
  return new Wired(model, options);
}

/** The session and the profile of a wired model's requests, where they are known. */
export interface WiredRequest extends WiredModelOptions, Partial<Pick<RequestObserver, "sessionId">> {
  /** @default the model's */
  readonly profile?: StructureProfile | undefined;
}

/** A model behind `toModel`. */
export class Wired<Answer extends BaseMessage> extends Runnable<ReducerInput, Answer> {
  override lc_namespace = ["langchain_redis_memory", "reducers"];
  /** The model, under the name by which LangChain's bindings have theirs, so that `profileOf` finds it. */
  readonly bound: Runnable<BaseLanguageModelInput, Answer>;
  readonly #request: WiredRequest;

  constructor(model: Runnable<BaseLanguageModelInput, Answer>, request: WiredRequest) {
    super();
    this.bound = model;
    this.#request = request;
  }

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "Wired";
  }

  override async invoke(input: ReducerInput, config?: Partial<RunnableConfig>): Promise<Answer> {
    const { messages, prefix } = await this.#ready(input, config);
    const answer = await this.bound.invoke(messages, config);
    return prefix === undefined ? answer : stampAnswer(answer, prefix);
  }

  override async *_streamIterator(input: ReducerInput, config?: Partial<RunnableConfig>): AsyncGenerator<Answer> {
    const { messages, prefix } = await this.#ready(input, config);
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await this.bound.stream(messages, config)) {
      const piece = chunk as unknown as AIMessageChunk;
      whole = prefix === undefined ? undefined : whole === undefined ? piece : whole.concat(piece);
      yield chunk;
    }
    const stamped = prefix === undefined || whole === undefined ? whole : stampAnswer(whole, prefix);
    if (whole !== undefined && stamped !== whole) {
      yield stampChunk(stamped!) as unknown as Answer;
    }
  }

  async #ready(input: ReducerInput | string, config: Partial<RunnableConfig> | undefined): Promise<ToModelResult> {
    const request = { model: this.bound, ...(config !== undefined && { config }) };
    const messages = typeof input === "string" ? [new HumanMessage(input)] : messagesOf(input);
    const { result, repaired, walk } = await readyFor(messages, request, this.#request.profile);
    const configurable = fieldsOf(config?.configurable);
    const named = stringIn(configurable["sessionId"]) ?? stringIn(configurable["thread_id"]);
    const { sessionId = named ?? "", onEvent, profile = result.profile.profile } = this.#request;
    reportForeign(messages, profile, { sessionId, onEvent });
    if (walk !== undefined) {
      reportDropped(walk, repaired, { sessionId, onEvent });
    }
    return result;
  }
}

/** A last piece of a streamed answer, which adds its stamp to the pieces before it. */
function stampChunk({ id, response_metadata }: AIMessageChunk): AIMessageChunk {
  const metadata = { [prefixKey]: response_metadata[prefixKey] as unknown };
  return new AIMessageChunk({ content: [], response_metadata: metadata, ...(id !== undefined && { id }) });
}
