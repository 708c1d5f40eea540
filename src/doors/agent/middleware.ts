import * as z from "zod/mini";
import type { BaseMessage } from "@langchain/core/messages";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { ZodObject } from "zod";
import type { RedisChatMemory } from "../../memory/histories/redis-chat-memory.js";
import { lazy, objectWith, parseOptions, type SchemaOutput } from "../../base/options.js";
import { sessionOf } from "../../memory/histories/redis-chat-message-history.js";
import type { BuiltInProfile } from "../../conversation/structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { resolveProfileChoice } from "../../conversation/structure/options.js";
import { AgentHooks } from "./hooks.js";
import { splitState, currentConfig, middlewareName, namespaceOf, placeOf, type AgentRuntime } from "./run.js";
import { askedState } from "./asked-question.js";
import type { WithRedisMemoryOptions } from "../chain/options.js";
import { sessionIdSchema, type SessionIdOption } from "../../memory/session/identity.js";
import { holdPolicy, turnFields } from "../../memory/turns/turn-setting.js";
import { checkpointerOf } from "../../memory/turns/stop.js";
import { earlierTool, readEarlierOption } from "../../memory/histories/read-earlier.js";

/** Type of an agent's `context` by its schema. */
export type ContextOf<Schema> = Schema extends ZodObject ? z.infer<Schema> : unknown;

/** Options of {@link redisMemoryMiddleware}. */
export interface RedisMemoryMiddlewareOptions<Schema extends ZodObject | undefined = undefined> extends Pick<
  WithRedisMemoryOptions,
  "memory" | "persist" | "onAbort" | "oneTurnAtATime" | "profile"
> {
  /**
   * The session id, or a function of the run that returns it. @default `configurable.sessionId`, else
   * `configurable.thread_id`
   */
  readonly sessionId?: SessionIdOption<AgentRuntime<ContextOf<Schema>>>;
  /** Schema of the agent's `context`, for the function `sessionId`. */
  readonly contextSchema?: Schema;
  /**
   * Gives the model the tool `read_earlier_messages`: it reads stored messages of the run's session again, by words, by
   * the call of a shortened result or by position.
   * @default false
   */
  readonly readEarlier?:
    | boolean
    | {
        /** Tokens of an answer of the tool. At least 100. @default 2_000 */
        readonly maxTokens?: number;
      };
}

const optionsSchema = lazy(() =>
  z.strictObject({
    memory: objectWith<RedisChatMemory>(["history", "getMessageHistory"], "a RedisChatMemory"),
    sessionId: sessionIdSchema<AgentRuntime>("runtime"),
    contextSchema: z.optional(z.custom<ZodObject>(isZodObject, "must be a zod object")),
    ...turnFields(),
    profile: z.optional(z.custom<BuiltInProfile | StructureProfile | "auto">()),
    readEarlier: readEarlierOption(),
  }),
);

/**
 * Middleware that gives an agent of LangChain's `createAgent` a memory: model requests begin with the session's view,
 * and the run's input and new messages are stored. Put it first in the list of middleware.
 *
 * The history is added to each request, not to the agent's state, so streams and checkpoints do not contain it. A loop
 * of many steps stays within the hard limit of the memory's reducer. Idempotent: a retry of a stored turn (same human
 * message id or `configurable.turnId`) returns the stored answer without a model call. With a checkpointer, messages of
 * earlier runs in its state are neither sent nor stored again. Requests are repaired for the profile; stored messages
 * are not changed.
 *
 * @throws ConfigurationError for invalid options; a run without a session id rejects with one.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { createAgent } from "langchain";
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
 * const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
 * const said = { messages: [{ role: "user", content: "Hi" }] };
 * await agent.invoke(said, { configurable: { sessionId: "ann-1" } });
 * await memory.close();
 */
export function redisMemoryMiddleware<const Schema extends ZodObject | undefined = undefined>(
  options: RedisMemoryMiddlewareOptions<Schema>,
): AgentMiddleware<undefined, Schema> {
  const checked = parseOptions(middlewareName, optionsSchema(), options);
  const { contextSchema } = checked;
  const sessionOfRun = sessionFinder(checked);
  const runOf = runFinder(checked, sessionOfRun);
  return createMiddleware({
    name: "RedisMemory",
    ...(contextSchema && { contextSchema }),
    ...(checked.readEarlier && {
      tools: [earlierTool(checked.readEarlier, () => sessionOfRun(currentConfig()).session)],
    }),
    beforeAgent: async ({ messages }, runtime) => {
      return (await runOf(messages, runtime, { isNew: true })).begin();
    },
    beforeModel: async ({ messages }, runtime) => (await runOf(messages, runtime)).beforeCall(messages),
    wrapModelCall: async (request, handler) => {
      const run = await runOf(request.state.messages, request.runtime);
      return run.call(request, handler as never) as never;
    },
    afterAgent: async ({ messages }, runtime) => (await runOf(messages, runtime)).end(messages),
  }) as unknown as AgentMiddleware<undefined, Schema>;
}

type CheckedOptions = SchemaOutput<typeof optionsSchema>;

/** Finds the place and the session of each run. */
function sessionFinder({ memory, sessionId, contextSchema }: CheckedOptions) {
  return (config: AgentRuntime) => {
    const context = contextSchema === undefined ? config.context : contextSchema.parse(config.context ?? {});
    const place = placeOf(config, { sessionId, context });
    const history = memory.history(place.sessionId, place.identity);
    return { place, history, session: sessionOf(middlewareName, history) };
  };
}

/** Structural check, because the application may load another copy of zod. */
function isZodObject(value: unknown): boolean {
  const schema = value as Partial<ZodObject> | null | undefined;
  return schema?._zod?.def?.type === "object" && typeof schema.parse === "function";
}

/** Finds the run of a hook; opens it at its beginning and after an interrupt. */
function runFinder(options: CheckedOptions, sessionOfRun: ReturnType<typeof sessionFinder>) {
  const { persist, onAbort, oneTurnAtATime } = options;
  const holding = holdPolicy(oneTurnAtATime);
  const { profile: choice } = options;
  const profile = choice === undefined ? undefined : resolveProfileChoice(middlewareName, choice);
  // By LangGraph's writer, which all hooks of a run share; agents inside a graph share it too, and differ by namespace.
  const runs = new WeakMap<object, Map<string, Promise<AgentHooks>>>();
  return (
    messages: readonly BaseMessage[],
    { writer }: { readonly writer?: object | undefined },
    { isNew = false }: { readonly isNew?: boolean } = {},
  ): Promise<AgentHooks> => {
    const config = currentConfig();
    const open = async () => {
      const { place, history, session } = sessionOfRun(config);
      // Without a writer each hook opens a run of its own, and would wait for the one before it.
      const held = holding && writer && { owner: `${middlewareName}: oneTurnAtATime`, ...holding };
      const input =
        isNew && checkpointerOf(config) !== undefined ? await askedState(messages, config, session) : undefined;
      const parts = splitState(input?.messages ?? messages);
      const setting = { history, session, place, profile, parts, policy: { persist, onAbort } };
      return new AgentHooks(setting, held, input);
    };
    if (writer === undefined) {
      return open();
    }
    const ofWriter = runs.get(writer) ?? new Map<string, Promise<AgentHooks>>();
    const run = (isNew ? undefined : ofWriter.get(namespaceOf(config))) ?? open();
    runs.set(writer, ofWriter.set(namespaceOf(config), run));
    return run;
  };
}
