import type { BaseMessage } from "@langchain/core/messages";
import { ownIdOf, roleOf } from "../../conversation/messages/message.js";
import type { ReducerRequest } from "../../conversation/reducers/chat-history-reducer.js";
import { boundThoughts, type RequestObserver } from "../../conversation/structure/seam/model-input.js";
import { Turn } from "./turn.js";
import type { TurnSetting } from "./turn-setting.js";

// Loaded with the first `withTurn` that has an input.

/** A call of the model. */
type Call = Pick<ReducerRequest, "model" | "system" | "tools" | "config">;

/**
 * A turn of your own loop: what chains and agents do for theirs, step by step.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMemory, type MemoryTurn } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
 * const answer = async (turn: MemoryTurn) =>
 *   turn.finish(await turn.ask({ model }, (messages) => model.invoke(messages)));
 * await memory.withTurn("ann-1", (_, turn) => answer(turn), { turnId: "job-7", input: "Hi" });
 * await memory.close();
 */
export interface MemoryTurn {
  /**
   * The stored messages behind the question, if the turn is stored with its answer already: no model is to be called,
   * and nothing more is stored. Undefined for any other turn.
   */
  readonly replay: readonly BaseMessage[] | undefined;
  /**
   * Calls the model by `send`: `model` and `config` tell its form and window, `system` and `tools` count. The messages
   * are the view and the turn within every limit and in the model's form. A request that is
   * refused as too long is made again once, smaller. Returns the answer, under an id that no other message has.
   *
   * @throws BudgetError of the reducer; the errors of `send`.
   */
  ask<Answer extends BaseMessage>(
    call: Pick<ReducerRequest, "model" | "system" | "tools" | "config">,
    send: (messages: BaseMessage[]) => Answer | Promise<Answer>,
  ): Promise<Answer>;
  /** Stores a finished step, an answer that calls tools with their results, before the next call. One round trip. */
  step(messages: readonly BaseMessage[]): Promise<void>;
  /** Stores the answer, ends the turn, and returns it: the stored one, if another run of the turn was first. */
  finish<Answer extends BaseMessage>(answer: Answer): Promise<Answer | BaseMessage>;
}

const policy = { persist: "step", onAbort: "keep" } as const;

/** Opens a turn and runs its loop. An error that the provider would give again marks the question. */
export async function runManually<Result>(
  place: Pick<TurnSetting, "history" | "session" | "isRewritten" | "turnId">,
  messages: readonly BaseMessage[],
  run: (turn: MemoryTurn) => Result | Promise<Result>,
): Promise<Result> {
  const last = messages.at(-1)!;
  const turnId = place.turnId ?? (roleOf(last) === "human" ? ownIdOf(last) : undefined);
  const turn = await Turn.open({ ...place, turnId, policy }, { messages });
  try {
    await turn.storeInput();
    return await run(manualTurn(turn, place.session.observer));
  } catch (error) {
    await turn.fail(error);
    throw error;
  }
}

/** A turn as its loop sees it. */
function manualTurn(turn: Turn, observer: RequestObserver): MemoryTurn {
  const own = [...turn.opened.turn];
  const send = async <Answer extends BaseMessage>(
    { config = {}, model, system, tools }: Call,
    call: (messages: BaseMessage[]) => Answer | Promise<Answer>,
  ): Promise<Answer> => {
    const {
      history,
      turn: turnMessages,
      planned,
    } = await turn.requests.make({ model, system, tools, config, turn: own });
    const messages = [...history, ...turnMessages];
    const bound = await boundThoughts({ profile: planned.profile, messages, system, tools }, observer);
    const answer = await call(bound?.messages ?? messages);
    return bound === undefined ? answer : bound.stamp(answer);
  };
  return {
    get replay() {
      return turn.replay && turn.storedAnswer;
    },
    async ask(call, model) {
      return turn.requests.answered(await turn.asking(() => send(call, model)));
    },
    async step(messages) {
      own.push(...messages);
      await turn.step(messages);
    },
    async finish(answer) {
      own.push(answer);
      await turn.finish([answer]);
      return (turn.replay && turn.storedAnswer.at(-1)) ?? answer;
    },
  };
}
