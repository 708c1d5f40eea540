import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { blocksOf } from "../../messages/content.js";
import { lazy, parseOptions } from "../../../base/options.js";
import { messagesOf, type ReducerInput } from "../chat-history-reducer.js";
import type { BuiltInProfile } from "../../structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../structure/profiles/profile.js";
import { resolveProfile } from "../../structure/profiles/resolve-profile.js";
import { type FrontMarks, marksIn, maxMarks, noMarks, withinMarks } from "../../structure/rules/mark-rules.js";
import { markForm, type CacheTtl } from "./mark-forms.js";
import { markPlaces } from "./mark-places.js";

/** Options of {@link promptCacheMarks}. */
export interface PromptCacheMarksOptions {
  /**
   * The model's provider. `anthropic` gets `cache_control`, `bedrock` (Converse) cache points; lists for others are
   * returned as they are, because those providers cache without marks.
   */
  readonly profile: BuiltInProfile | StructureProfile;
  /** Cache lifetime of the marked prefix. @default the provider's own, five minutes */
  readonly ttl?: CacheTtl;
}

const schema = lazy(() =>
  z.strictObject({
    profile: z.custom<BuiltInProfile | StructureProfile>(
      (value) => value !== undefined,
      "must be a profile or its name",
    ),
    ttl: z.optional(z.enum(["5m", "1h"], 'must be "5m" or "1h"')),
  }),
);

/**
 * Creates a Runnable that adds cache marks to the prompt, for providers that cache only up to marks. It marks the end
 * of the newest complete round, of the head (system messages and summaries at the front), of the system messages, and
 * of the newest complete tool step; never more than four with the marks that are there already.
 *
 * Returns a new list; marked messages are copies with the same ids, the others are the same objects. Content that may
 * not carry a mark stays unmarked: thinking, blank text, messages with tool calls. Idempotent. Linear.
 *
 * @throws ConfigurationError naming the option.
 * @example
 * import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { promptCacheMarks } from "langchain-redis-memory";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * export const chainWith = (model: BaseChatModel) =>
 *   prompt.pipe(promptCacheMarks({ profile: "anthropic" })).pipe(model);
 */
export function promptCacheMarks(options: PromptCacheMarksOptions): Runnable<ReducerInput, BaseMessage[]> {
  const { profile, ttl } = parseOptions("promptCacheMarks", schema(), options);
  return new PromptCacheMarks({ profile: resolveProfile("promptCacheMarks", profile), ttl });
}

/** The settings of marks. */
interface MarkSettings {
  readonly profile: StructureProfile;
  readonly ttl?: CacheTtl | undefined;
  /** Marks in front of the messages. @default none */
  readonly front?: FrontMarks | undefined;
}

class PromptCacheMarks extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace = ["langchain_redis_memory", "prompt_cache"];
  readonly #settings: MarkSettings;

  constructor(settings: MarkSettings) {
    super();
    this.#settings = settings;
  }

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "PromptCacheMarks";
  }

  override async invoke(input: ReducerInput, config?: Partial<RunnableConfig>): Promise<BaseMessage[]> {
    const mark = async (given: ReducerInput) => withCacheMarks(messagesOf(given), this.#settings);
    return this._callWithConfig(mark, input, config);
  }
}

/** A model's input in a turn. */
interface TurnInput {
  readonly history: BaseMessage[];
  readonly turn: BaseMessage[];
}

/**
 * A model's input with marks in its history; see {@link promptCacheMarks}. The turn's messages may have no ids, by
 * which an agent's answer is told from what it was given, so they stay the same objects.
 */
export function markedInput({ history, turn }: TurnInput, settings: MarkSettings): TurnInput {
  return { history: withCacheMarks([...history, ...turn], settings).slice(0, history.length), turn };
}

/** The list with marks for the profile's provider; see {@link promptCacheMarks}. */
export function withCacheMarks(
  messages: readonly BaseMessage[],
  { profile, ttl, front = noMarks }: MarkSettings,
): BaseMessage[] {
  const result = [...messages];
  const marks = marksIn(messages.flatMap(blocksOf));
  // Marks in front of one for an hour have to be for an hour too.
  const form = markForm(profile, ttl ?? (marks.some((mark) => mark["ttl"] === "1h") ? "1h" : undefined));
  if (form === undefined) {
    return result;
  }
  let left = maxMarks - front.count - marks.length;
  for (const { first, last } of markPlaces(messages)) {
    // If the last message of the place may not carry a mark, the nearest before it does.
    for (let index = last; index >= first && left > 0; index -= 1) {
      const message = messages[index]!;
      const marked = form.isMarked(message) ? message : form.mark(message);
      if (marked !== undefined) {
        result[index] = marked;
        left -= marked === message ? 0 : 1;
        break;
      }
    }
  }
  return [...withinMarks(result, front)];
}
