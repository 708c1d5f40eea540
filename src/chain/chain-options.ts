import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import { contextOf } from "../memory/redis-chat-memory.js";
import { lazy, nonEmptyText, objectWith, parseOptions } from "../base/options.js";
import type { BuiltInProfile } from "../structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { resolveProfile } from "../structure/profiles/resolve-profile.js";
import { holdPolicy, turnFields } from "../turns/turn-defaults.js";
import { sessionIdSchema, type SessionIdOption } from "./session-id.js";

/** Options of `withRedisMemory`; the keys mean the same as in `RunnableWithMessageHistory`. */
export interface WithRedisMemoryOptions {
  /** Where the conversations are. */
  readonly memory: RedisChatMemory;
  /** The key of the input with what the user said. @default the only key, else "input"; of an agent "messages" */
  readonly inputMessagesKey?: string;
  /**
   * The key of the output that holds the answer.
   * @default the only key, else "output", where it holds an answer; else the output is stored as JSON
   */
  readonly outputMessagesKey?: string;
  /** The key under which the runnable gets the history; without it, the history stands before the input messages. */
  readonly historyMessagesKey?: string;
  /** The session, or how to find it in the run's config. @default `configurable.sessionId`, else `thread_id` */
  readonly sessionId?: SessionIdOption<RunnableConfig>;
  /**
   * When messages are stored. `step`: what the user said before a model is called, of an agent also each finished step,
   * and the rest at the end; a run that fails leaves what is stored, and a retry goes on from there. `turn`: once, when
   * the run is done; a run that fails stores nothing. @default "step"
   */
  readonly persist?: "turn" | "step";
  /**
   * What a run leaves that was stopped, by its signal or because its stream was left: what the user said and what was
   * answered so far, marked by `response_metadata.interrupted` (`keep`), or nothing more than is stored (`discard`).
   * @default "keep"
   */
  readonly onAbort?: "discard" | "keep";
  /** What the model accepts; the conversation is repaired for it. @default the memory's profile */
  readonly profile?: BuiltInProfile | StructureProfile;
  /**
   * True to mark what a model of Anthropic or Bedrock is sent for its prompt cache; see `promptCacheMarks`. Marks are
   * never stored. Other profiles need no marks and get none. @default false
   */
  readonly promptCacheMarks?: boolean;
  /**
   * True to let the runs of a session wait for each other, as `memory.withTurn` does: none answers while another one
   * does, and of two runs of the same turn only one calls the model. A run that waits longer than `waitMs` is refused
   * (ConflictError `busy`); one that was paused past its turn cannot write behind a later one (`fenced`). An agent holds
   * its session until the run ends, fails, is stopped or interrupted, its tools included. @default true, where the
   * store has holds, and but for a run within a turn of the same session, which is a part of that turn; where it is
   * asked for, both are refused
   */
  readonly oneTurnAtATime?:
    | boolean
    | {
        /** How long the session's turn is waited for, in milliseconds; 0 asks once. @default 60_000 */
        readonly waitMs?: number;
        /** How long a process that died keeps the others from the session, in milliseconds. @default 30_000 */
        readonly holdMs?: number;
      };
}

/** The options as they are used. */
export type ChainOptions = ReturnType<typeof chainOptions>;

const optionsSchema = lazy(() =>
  z.strictObject({
    memory: objectWith<RedisChatMemory>(["history", "getMessageHistory"], "a RedisChatMemory"),
    inputMessagesKey: z.optional(nonEmptyText()),
    outputMessagesKey: z.optional(nonEmptyText()),
    historyMessagesKey: z.optional(nonEmptyText()),
    sessionId: sessionIdSchema<RunnableConfig>("config"),
    ...turnFields(),
    profile: z.optional(z.custom<BuiltInProfile | StructureProfile>()),
    promptCacheMarks: z._default(z.boolean("must be true or false"), false),
  }),
);

/**
 * Checks the options.
 *
 * @throws ConfigurationError naming the option.
 */
export function chainOptions(options: WithRedisMemoryOptions) {
  const { profile, ...checked } = parseOptions("withRedisMemory", optionsSchema(), options);
  const store = contextOf(checked.memory)?.store;
  return {
    ...checked,
    holding: holdPolicy("withRedisMemory", checked.oneTurnAtATime, store),
    ...(profile !== undefined && { profile: resolveProfile("withRedisMemory", profile) }),
  };
}
