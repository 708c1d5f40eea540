import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import type { RedisChatMemory } from "../../memory/histories/redis-chat-memory.js";
import { lazy, nonEmptyText, objectWith, parseOptions } from "../../base/options.js";
import type { BuiltInProfile } from "../../conversation/structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { ConfigurationError } from "../../base/errors.js";
import { fieldsOf } from "../../conversation/messages/message.js";
import { resolveProfileChoice } from "../../conversation/structure/options.js";
import { holdPolicy, turnFields } from "../../memory/turns/turn-setting.js";
import { sessionIdSchema, type SessionIdOption } from "../../memory/session/identity.js";

/** Options of `withRedisMemory`; the keys mean the same as in `RunnableWithMessageHistory`. */
export interface WithRedisMemoryOptions {
  /** The memory that holds the conversations. */
  readonly memory: RedisChatMemory;
  /** Input key of the user messages. @default the only key, else "input"; of an agent "messages" */
  readonly inputMessagesKey?: string;
  /**
   * Output key of the answer.
   * @default the only key, else "output", if it holds an answer; else the output is stored as JSON
   */
  readonly outputMessagesKey?: string;
  /** Input key of the history for the runnable. @default none: the history precedes the input messages */
  readonly historyMessagesKey?: string;
  /**
   * The session id, or a function of the run's config that returns it. @default `configurable.sessionId`, else
   * `thread_id`
   */
  readonly sessionId?: SessionIdOption<RunnableConfig>;
  /**
   * When messages are stored. `step`: the user messages before the model call, for an agent also each finished step,
   * and the rest at the end; a failed run leaves the stored part, and a retry resumes from it. `turn`: one write at the
   * end; a failed run stores nothing. @default "step"
   */
  readonly persist?: "turn" | "step";
  /**
   * Policy for a run stopped by its signal or by leaving its stream: `keep` stores the user messages and the partial
   * answer, marked by `response_metadata.interrupted`; `discard` stores nothing more.
   * @default "keep"
   */
  readonly onAbort?: "discard" | "keep";
  /**
   * Profile for which the conversation is repaired; `"auto"`: that of the model of each request, in a chain the
   * runnable's. A model that is not known gets the neutral form (event `profile_guessed`). @default the memory's
   * profile
   */
  readonly profile?: BuiltInProfile | StructureProfile | "auto";
  /**
   * Serializes the runs of a session, as `memory.withTurn` does; of two runs of the same turn only one calls the model.
   * A run that waits longer than `waitMs` is refused (ConflictError `busy`); a run that was paused for longer than its
   * hold cannot write once a later one has begun (`fenced`). An agent holds its session until the run ends, fails, is
   * stopped or interrupted, its tools included. @default true if the store has holds, except for a run inside a turn of
   * the same session, which joins that turn; if set explicitly, both are refused
   */
  readonly oneTurnAtATime?:
    | boolean
    | {
        /** Maximum wait for the hold, in milliseconds; 0 tries once. @default 60_000 */
        readonly waitMs?: number;
        /** Expiry of the hold of a process that died, in milliseconds. @default 10_000 */
        readonly holdMs?: number;
      };
}

/** Parsed options. */
export type ChainOptions = ReturnType<typeof chainOptions>;

const optionsSchema = lazy(() =>
  z.strictObject({
    memory: objectWith<RedisChatMemory>(["history", "getMessageHistory"], "a RedisChatMemory"),
    inputMessagesKey: z.optional(nonEmptyText()),
    outputMessagesKey: z.optional(nonEmptyText()),
    historyMessagesKey: z.optional(nonEmptyText()),
    sessionId: sessionIdSchema<RunnableConfig>("config"),
    ...turnFields(),
    profile: z.optional(z.custom<BuiltInProfile | StructureProfile | "auto">()),
  }),
);

/**
 * Parses and validates the options of a runnable.
 *
 * @throws ConfigurationError naming the option.
 */
export function chainOptions(options: WithRedisMemoryOptions, runnable: unknown) {
  const { profile, ...checked } = parseOptions("withRedisMemory", optionsSchema(), options);
  return {
    ...checked,
    runnable,
    mistake: missingPlaceholder(runnable, checked.historyMessagesKey),
    holding: holdPolicy(checked.oneTurnAtATime),
    ...(profile !== undefined && { profile: resolveProfileChoice("withRedisMemory", profile) }),
  };
}

/** Steps of LangChain's in front of a prompt that pass their input on. */
const passing: ReadonlySet<string> = new Set(["RunnableAssign", "RunnablePassthrough"]);

/** The error for a prompt in which no placeholder takes the history: without it the model forgets in silence. */
function missingPlaceholder(runnable: unknown, key: string | undefined): ConfigurationError | undefined {
  const { first, middle = [], last } = fieldsOf(runnable) as { first?: unknown; middle?: unknown[]; last?: unknown };
  const steps = first === undefined ? [runnable] : [first, ...middle, last];
  const prompt = fieldsOf(steps.find((step) => !passing.has(classOf(step))))["promptMessages"];
  if (key === undefined || !Array.isArray(prompt)) {
    return undefined;
  }
  const names = prompt
    .map(fieldsOf)
    .flatMap(({ variableName, inputVariables }) => [variableName, inputVariables].flat());
  return names.includes(key)
    ? undefined
    : new ConfigurationError(
        "historyMessagesKey",
        `withRedisMemory: the prompt has no placeholder "${key}", so the model would not see the history; ` +
          `add ["placeholder", "{${key}}"] to it, or name the placeholder that it has with "historyMessagesKey".`,
      );
}

function classOf(step: unknown): string {
  const own = (step as object | undefined)?.constructor as { lc_name?: () => string } | undefined;
  return own?.lc_name?.() ?? "";
}
