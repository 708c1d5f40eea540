import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { keepLastCharacters } from "../base/graphemes.js";
import type { Round } from "../messages/rounds.js";
import { ConfigurationError } from "../base/errors.js";
import { anyText, lazy, objectWith, parseOptions, positiveInteger, withoutUndefined } from "../base/options.js";
import { readRunNames } from "../session/identity.js";
import type { SessionAccess } from "../store/lists.js";
import { fitJson, fitMessages, fitText } from "./fit-rounds.js";
import { linesOf } from "./round-format.js";

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
  /** The session id, for a module with a `memory`. @default `configurable.sessionId` of the run */
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
  /** Show tool results, as `tool(<name>)`. @default false */
  readonly includeTools?: boolean;
}

/**
 * Options of {@link ChatMemoryModule}: a history, or a memory and a session at each retrieval; the rest are defaults
 * for retrievals.
 */
export interface ChatMemoryModuleOptions extends Omit<RetrieveOptions, "sessionId"> {
  /** The history to retrieve from. Give this or `memory`, not both. */
  readonly history?: RoundSource;
  /** The memory to retrieve from; each retrieval then names its session. Give this or `history`, not both. */
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
 * Retrieves the last rounds of a conversation as prompt text, JSON or messages, bounded in rounds and in characters.
 *
 * `[...result].length <= maxContext` always holds. If the rounds are longer, the oldest rounds are dropped first, then
 * the oldest messages of the last round, then the front of the last message, never inside a grapheme. The notice says
 * so; it is omitted if it alone would fill `maxContext`. Reads the transcript, so rounds that left the view are
 * included. One round trip, which reads only the requested rounds.
 *
 * @example
 * import { ChatMemoryModule, RedisChatMessageHistory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMessageHistory({ sessionId: "user-1", url: "redis://localhost:6379" });
 * const recall = new ChatMemoryModule({ history, nRounds: 5, maxContext: 4_000 });
 * const text = await recall.retrieve(); // "user: …\nassistant: …\n\nuser: …"
 * await history.close();
 */
export class ChatMemoryModule<F extends RoundFormat = "text"> extends Runnable<
  RetrieveOptions | undefined,
  string | BaseMessage[]
> {
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
    },
  ) {
    super();
    this.#options = parseOptions("ChatMemoryModule", moduleSchema(), options);
    refuseShortJson(this.#options);
    if ((this.#options.history === undefined) === (this.#options.memory === undefined)) {
      throw new ConfigurationError("history", 'ChatMemoryModule: give one of "history" and "memory".');
    }
  }

  /**
   * Returns the last rounds in the given format.
   *
   * @throws ConfigurationError naming the parameter; StoreError.
   */
  retrieve<G extends RoundFormat = F>(options: RetrieveOptions<G> = {}): Promise<Retrieved<G>> {
    return this.#retrieve(options, {});
  }

  async #retrieve<G extends RoundFormat>(options: RetrieveOptions<G>, identity: SessionAccess): Promise<Retrieved<G>> {
    const given = parseOptions("retrieve", retrieveSchema(), options);
    const settings = { ...defaults, ...withoutUndefined(this.#options), ...withoutUndefined(given) };
    refuseShortJson(settings);
    const rounds = await this.#source(given.sessionId, identity).getRounds(settings.nRounds);
    return render(rounds, settings) as Retrieved<G>;
  }

  /** `retrieve` as a step of a chain; session and owner may come from `configurable`. */
  override async invoke(input?: RetrieveOptions, config?: Partial<RunnableConfig>): Promise<string | BaseMessage[]> {
    const { configurable = {} } = config ?? {};
    const isNamed = this.#options.history !== undefined || input?.sessionId !== undefined;
    const { owner } = readRunNames(configurable, "ChatMemoryModule", { namesSession: isNamed });
    const sessionId: unknown = configurable["sessionId"];
    const fromConfig = this.#options.memory !== undefined && typeof sessionId === "string" ? { sessionId } : {};
    return this._callWithConfig(
      (options: RetrieveOptions) => this.#retrieve(options, owner),
      { ...fromConfig, ...input },
      config,
    );
  }

  #source(sessionId: string | undefined, identity: SessionAccess): RoundSource {
    const { history, memory } = this.#options;
    if (history !== undefined) {
      if (sessionId !== undefined) {
        throw new ConfigurationError(
          "sessionId",
          'ChatMemoryModule: made with a "history", it has its session already; leave sessionId out.',
        );
      }
      return history;
    }
    if (sessionId === undefined) {
      throw new ConfigurationError(
        "sessionId",
        "ChatMemoryModule: name the session, as sessionId or in configurable.sessionId.",
      );
    }
    return memory!.history(sessionId, identity);
  }
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
