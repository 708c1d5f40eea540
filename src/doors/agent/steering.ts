import * as z from "zod/mini";
import { createMiddleware, type AgentMiddleware } from "langchain";
import { lazy, objectWith, parseOptions } from "../../base/options.js";
import { mayCall } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";
import { sessionIdSchema, type SessionIdOption } from "../../memory/session/identity.js";
import type { SteeredRuns } from "../../memory/turns/turn-setting.js";
import { currentConfig, placeOf, type AgentRuntime } from "./run.js";

/** Options of {@link steeringMiddleware}. */
export interface SteeringMiddlewareOptions {
  /** The runs, as `redisRuns(memory)` returns them. */
  readonly runs: SteeredRuns;
  /**
   * The session id, as for `redisMemoryMiddleware`. @default `configurable.sessionId`, else
   * `configurable.thread_id`
   */
  readonly sessionId?: SessionIdOption<AgentRuntime>;
}

const optionsSchema = lazy(() =>
  z.strictObject({
    runs: objectWith<SteeredRuns>(["saidTo"], "what redisRuns returns"),
    sessionId: sessionIdSchema<AgentRuntime>("runtime"),
  }),
);

/**
 * Middleware that adds what was said by `runs.steer` to a running agent, before its next model call. Put it behind
 * `redisMemoryMiddleware`, which stores it in the turn.
 *
 * Each message once, in order. A message that comes during the model's last answer makes the agent go on; a later one
 * is not taken. Messages that a run did not see because it was stopped, failed or died are added to the session's next
 * run. One round trip before each model call, and one behind the last; without effect in an agent that no run plays.
 *
 * @throws ConfigurationError for invalid options.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { createAgent } from "langchain";
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
 * import { redisRuns } from "langchain-redis-memory/runs";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const runs = redisRuns(memory);
 * const middleware = [redisMemoryMiddleware({ memory }), steeringMiddleware({ runs })];
 * const agent = createAgent({ model: new ChatOpenAI({ model: "gpt-4o-mini" }), tools: [], middleware });
 */
export function steeringMiddleware(options: SteeringMiddlewareOptions): AgentMiddleware {
  const { runs, sessionId } = parseOptions("steeringMiddleware", optionsSchema(), options);
  const said = () => {
    const config = currentConfig();
    const place = placeOf(config, { sessionId, context: config.context });
    return runs.saidTo(place.sessionId, place.turnId);
  };
  return createMiddleware({
    name: "RedisSteering",
    beforeModel: async () => {
      const messages = await said()?.take();
      return messages?.length ? { messages } : undefined;
    },
    afterModel: {
      canJumpTo: ["model"],
      hook: async ({ messages: state }) => {
        const last = state.at(-1);
        const isAnswer = last !== undefined && roleOf(last) === "ai" && !mayCall(last);
        const messages = isAnswer ? await said()?.takeOrClose() : undefined;
        return messages?.length ? { messages, jumpTo: "model" as const } : undefined;
      },
    },
  }) as unknown as AgentMiddleware;
}
