import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { keepLastCharacters } from "../../base/graphemes.js";
import { type Round, splitRounds } from "../../conversation/messages/rounds.js";
import { fieldsOf, without } from "../../conversation/messages/message.js";
import { ConfigurationError } from "../../base/errors.js";
import { loadedOnce } from "../../base/bounds.js";
import {
  anyText,
  lazy,
  misspeltName,
  objectWith,
  parseOptions,
  positiveInteger,
  withoutUndefined,
} from "../../base/options.js";
import { messagesOf, type ReducerInput } from "../../conversation/reducers/chat-history-reducer.js";
import type { TrimmerRun } from "../../conversation/reducers/pipe-reducers.js";
import { readRunNames, sessionIdOf } from "../session/identity.js";
import type { SessionAccess } from "../../store/contract/session-ref.js";
import { fitJson, fitMessages, fitText, linesOf, trimToRounds } from "./fit-rounds.js";

const modelDoor = loadedOnce(() => import("../../conversation/reducers/pipe-reducers.js"));

/** Notice in front of a truncated text; 62 characters with the trailing space. */
export const defaultTruncationNotice = "Notice: Chat history truncated due to maximum context window. ";

/** Output formats of a retrieval. */
export type RoundFormat = "text" | "json" | "messages";

/** Structural type of a history with `getRounds`, such as `RedisChatMessageHistory`. */
export interface RoundSource {
  /** The last rounds, oldest first. */
  getRounds(count: number): Promise<Round[]>;
}

/** Options of one retrieval; missing ones are the module's. */
export interface RetrieveOptions<F extends RoundFormat = RoundFormat> {
  /** The session id, for a module with a `memory`. @default `sessionId` or `thread_id` in `configurable` of the run */
  readonly sessionId?: string;
  /** Maximum number of rounds; a round is a human message and all up to the next. @default 3 */
  readonly nRounds?: number;
  /** Maximum size of the result in Unicode code points, notice included. @default 10000 */
  readonly maxContext?: number;
  /**
   * `text`: `<name or role>: <content>` lines, users by name only if the rounds have several; `json`: an array of
   * `{ role, name?, content }`; `messages`: the messages themselves.
   * @default "text"
   */
  readonly format?: F;
  /** Notice in front of a result truncated by `maxContext`. @default `Notice: Chat history truncated …` */
  readonly truncationNotice?: string;
  /** Result without messages (`json`: `[]` unless this is set; `messages`: always an empty array). @default "" */
  readonly noHistoryMessage?: string;
  /**
   * Show tool results, as `tool(<name>)`. Messages that a chain passes through keep them with their calls.
   * @default false
   */
  readonly includeTools?: boolean;
}

/**
 * Options of {@link ChatMemoryModule}: a history, or a memory and a session at each retrieval, or neither, for messages
 * that a chain passes through; the rest are defaults for retrievals.
 */
export interface ChatMemoryModuleOptions extends Omit<RetrieveOptions, "sessionId"> {
  /** The history to retrieve from. Not together with `memory`. */
  readonly history?: RoundSource;
  /** The memory to retrieve from; each retrieval then names its session. Not together with `history`. */
  readonly memory?: {
    /** The history of a session; bound to an owner if the run names one. */
    history(sessionId: string, identity?: SessionAccess): RoundSource;
  };
}

/** The result of a retrieval in each format. */
export type Retrieved<F extends RoundFormat> = F extends "messages" ? BaseMessage[] : string;

const retrieveFields = lazy(() => ({
  nRounds: z.optional(positiveInteger()),
  maxContext: z.optional(positiveInteger()),
  format: z.optional(z.enum(["text", "json", "messages"], 'must be "text", "json" or "messages"')),
  truncationNotice: z.optional(anyText()),
  noHistoryMessage: z.optional(anyText()),
  includeTools: z.optional(z.boolean("must be true or false")),
}));
const retrieveSchema = lazy(() => z.strictObject({ ...retrieveFields(), sessionId: z.optional(anyText()) }));
const retrieveNames = lazy(() => [...Object.keys(retrieveFields()), "sessionId"]);
const moduleSchema = lazy(() =>
  z.strictObject({
    ...retrieveFields(),
    history: z.optional(
      objectWith<RoundSource>(["getRounds"], "a history with getRounds(), such as RedisChatMessageHistory"),
    ),
    memory: z.optional(objectWith<NonNullable<ChatMemoryModuleOptions["memory"]>>(["history"], "a RedisChatMemory")),
  }),
);

const defaults = {
  nRounds: 3,
  maxContext: 10_000,
  format: "text",
  truncationNotice: defaultTruncationNotice,
  noHistoryMessage: "",
  includeTools: false,
} as const;

/**
 * Retrieves the last rounds of a conversation as prompt text, JSON or messages, bounded in rounds and in characters:
 * those of a history, or of the session that a run names; with neither `history` nor `memory`, those of the messages
 * that it gets, between a prompt and a model.
 *
 * `[...result].length <= maxContext` always holds for texts. If the rounds are longer, the oldest rounds are dropped
 * first, then the oldest messages of the last round, then the front of the last message, never inside a grapheme. The
 * notice says so; it is omitted if it alone would fill `maxContext`. A history's rounds are read from its transcript,
 * those that left the view included; one round trip reads only the requested ones.
 *
 * @example
 * import { ChatMemoryModule, RedisChatMessageHistory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMessageHistory({ sessionId: "user-1", url: "redis://localhost:6379" });
 * const recall = new ChatMemoryModule({ history, nRounds: 5, maxContext: 4_000 });
 * const text = await recall.retrieve(); // "user: …\nassistant: …\n\nuser: …"
 * await history.close();
 */
export class ChatMemoryModule<F extends RoundFormat = "text"> extends Runnable<unknown, Retrieved<F>> {
  static override lc_name(): string {
    return "ChatMemoryModule";
  }

  override lc_namespace: string[] = ["langchain_redis_memory", "memory"];
  readonly #options: ChatMemoryModuleOptions;

  /** @throws ConfigurationError naming the option. */
  constructor(
    options: ChatMemoryModuleOptions & {
      /** Default output format. @default "text" */
      readonly format?: F;
    } = {},
  ) {
    super();
    this.#options = parseOptions("ChatMemoryModule", moduleSchema(), options);
    refuseShortJson(this.#options);
    if (this.#options.history !== undefined && this.#options.memory !== undefined) {
      throw new ConfigurationError("history", 'ChatMemoryModule: give one of "history" and "memory", not both.');
    }
  }

  /**
   * Returns the last rounds in the given format, of the history or of a session of the memory.
   *
   * @throws ConfigurationError naming the parameter; StoreError.
   */
  retrieve<G extends RoundFormat = F>(options: RetrieveOptions<G> = {}): Promise<Retrieved<G>> {
    return this.#retrieve(options, {});
  }

  async #retrieve<G extends RoundFormat>(options: RetrieveOptions<G>, run: Run): Promise<Retrieved<G>> {
    const checked = parseOptions("retrieve", retrieveSchema(), options);
    const settings = this.#settingsFor(checked);
    const rounds = await this.#source(checked.sessionId, run).getRounds(settings.nRounds);
    return render(rounds, settings) as Retrieved<G>;
  }

  #settingsFor(options: RetrieveOptions): Settings {
    const settings = { ...defaults, ...withoutUndefined(this.#options), ...withoutUndefined(options) };
    refuseShortJson(settings);
    return settings;
  }

  /**
   * The last rounds as a step of a chain, in the module's format. With `history` or `memory`, the input may be options
   * of `retrieve`; every other input is ignored, and session and owner come from `configurable`. With neither, it is
   * messages, a prompt value or `{ messages }`, the latter with options as well. As `messages`, system messages and
   * summaries stay in front and are not counted, and steps stay whole, with their question.
   *
   * @throws ConfigurationError naming the parameter; StoreError.
   */
  override async invoke(input?: unknown, config?: Partial<RunnableConfig>): Promise<Retrieved<F>> {
    const { configurable = {} } = config ?? {};
    const { history, memory } = this.#options;
    const isTrimmer = history === undefined && memory === undefined;
    const options = optionsIn(isTrimmer ? without(fieldsOf(input), "messages") : input);
    const isNamed = isTrimmer || history !== undefined || options.sessionId !== undefined;
    const { owner: identity } = readRunNames(configurable, "ChatMemoryModule", { namesSession: isNamed });
    const run = { named: configurable["sessionId"] ?? configurable["thread_id"], identity };
    const work = (value: unknown, _: unknown, runManager?: CallbackManagerForChainRun): Promise<Retrieved<F>> =>
      isTrimmer
        ? this.#trim(value as ReducerInput, options, { config, runManager })
        : this.#retrieve(options as RetrieveOptions<F>, run);
    return this._callWithConfig(work, input, config);
  }

  async #trim(input: ReducerInput, options: RetrieveOptions, run: TrimmerRun): Promise<Retrieved<F>> {
    const settings = this.#settingsFor(parseOptions("retrieve", retrieveSchema(), options));
    if (settings.format !== "messages") {
      return render(splitRounds(messagesOf(input)).slice(-settings.nRounds), settings) as Retrieved<F>;
    }
    const { forModel } = await modelDoor();
    return (await forModel(input, run, (messages) => trimToRounds(messages, settings))) as Retrieved<F>;
  }

  #source(sessionId: string | undefined, { named, identity }: Run): RoundSource {
    const { history, memory } = this.#options;
    if (history !== undefined && sessionId !== undefined) {
      throw new ConfigurationError(
        "sessionId",
        'ChatMemoryModule: made with a "history", it has its session already; leave sessionId out.',
      );
    }
    if (history === undefined && memory === undefined) {
      throw new ConfigurationError(
        "history",
        'ChatMemoryModule: retrieve() needs a "history" or a "memory"; without one, invoke() takes messages.',
      );
    }
    const hint = "name it as sessionId, or as sessionId or thread_id in configurable";
    const id = () => sessionIdOf({ named: sessionId ?? named, run: undefined, owner: "ChatMemoryModule", hint });
    return history ?? memory!.history(id(), identity);
  }
}

/** The session and the owner that a run names. */
interface Run {
  readonly named?: unknown;
  readonly identity?: SessionAccess;
}

/** The input of a chain as options: it is some where each of its keys is one, or is meant to be. */
function optionsIn(input: unknown): RetrieveOptions {
  const names = Object.keys(fieldsOf(input));
  // With the smallest mistakes, so that no name of the application's own is taken for one.
  const isOption = (name: string) => misspeltName(name, retrieveNames(), { most: 1 }) !== undefined;
  return names.length > 0 && names.every(isOption) ? (input as RetrieveOptions) : {};
}

type Settings = Required<Omit<RetrieveOptions, "sessionId">>;

function render(rounds: readonly Round[], settings: Settings): string | BaseMessage[] {
  const lines = linesOf(rounds, settings.includeTools);
  if (lines.length === 0) {
    return renderNothing(settings);
  }
  const fit = { json: fitJson, messages: fitMessages, text: fitText }[settings.format];
  return fit(lines, settings);
}

function renderNothing({ format, noHistoryMessage, maxContext }: Settings): string | BaseMessage[] {
  if (format === "messages") {
    return [];
  }
  return format === "json" && noHistoryMessage === "" ? "[]" : keepLastCharacters(noHistoryMessage, maxContext);
}

function refuseShortJson({ format, maxContext }: Pick<RetrieveOptions, "format" | "maxContext">): void {
  if (format === "json" && maxContext !== undefined && maxContext < 2) {
    throw new ConfigurationError(
      "maxContext",
      'ChatMemoryModule: option "maxContext" must be at least 2 with format "json".',
    );
  }
}
