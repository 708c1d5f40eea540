import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../src/conversation/messages/message.js";
import { ContextWindow } from "../../src/conversation/reducers/window/context-window.js";
import { windowSettings } from "../../src/conversation/reducers/window/options.js";
import { noteAsked } from "../../src/memory/session/append-input.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { recordedConversations } from "../support/real-conversations.js";

const system = recordedConversations().at(-1)![0]!.text;
const tools = Array.from({ length: 14 }, (_, index) => ({
  type: "function" as const,
  function: {
    name: `look_up_${index}`,
    description: "Looks up a reservation or a user by the id that the user gave, with all flights and payments.",
    parameters: {
      type: "object",
      properties: { id: { type: "string", description: "The id, six characters such as '8JX2WO'." } },
      required: ["id"],
    },
  },
}));

/** What a provider bills for a request. */
interface Truth {
  readonly fixed: number;
  countMessage(message: BaseMessage): Promise<number>;
}

const wide = tiktokenCounter({ encoding: "o200k_base" });
const narrow = tiktokenCounter({ encoding: "cl100k_base" });

/** A message as another provider reads it: its text as it is, calls as blocks, and what wraps them. */
function inBlocks(message: BaseMessage): string {
  const { tool_calls: calls = [], tool_call_id: id } = message as AIMessage & { tool_call_id?: string };
  const blocks = calls.map(({ name, args, id: callId }) => ({ type: "tool_use", id: callId, name, input: args }));
  const head = id === undefined ? roleOf(message) : JSON.stringify({ type: "tool_result", tool_use_id: id });
  return [head, message.text, ...blocks.map((block) => JSON.stringify(block))].join("\n\n");
}

async function truths(): Promise<Readonly<Record<string, Truth>>> {
  await Promise.all([wide.ready(), narrow.ready()]);
  const fixed = JSON.stringify([system, ...tools]);
  const blocks = async (message: BaseMessage) => narrow.countText(inBlocks(message));
  return {
    "the tokenizer of OpenAI": {
      fixed: (await wide.countText(fixed)) + 20,
      countMessage: async (message) => wide.countMessage(message),
    },
    "another one, with blocks": { fixed: (await narrow.countText(fixed)) + 346, countMessage: blocks },
    "one that is finer by a third": {
      fixed: 1.35 * ((await narrow.countText(fixed)) + 346),
      countMessage: async (message) => 1.35 * (await blocks(message)),
    },
  };
}

/** Ten conversations at a time, as one session. */
function sessionsOfTen(): BaseMessage[][] {
  const all = recordedConversations();
  const sessions = Array.from({ length: Math.ceil(all.length / 10) }, (_, at) => all.slice(10 * at, 10 * at + 10));
  return sessions.map((parts) => parts.flat().filter((message) => roleOf(message) !== "system"));
}

/** A request as the provider counts it, and as it was thought to be. */
interface Played {
  readonly billed: number;
  readonly thought: number;
  /** True behind the first reduction of its session. */
  readonly isCut: boolean;
  /** True right behind a reduction. */
  readonly isShorter: boolean;
}

/** Plays a session as an agent does: each answer keeps what its request was billed, and thought to take. */
async function play(session: readonly BaseMessage[], window: number, truth: Truth): Promise<Played[]> {
  const reducer = new ContextWindow(windowSettings({}));
  const model = { model: "m", _llmType: () => "fake", profile: { maxInputTokens: window } };
  const request = { model, system, tools, isWhole: true };
  const counts = new WeakMap<BaseMessage, number>();
  const played: Played[] = [];
  let [view, isCut]: [BaseMessage[], boolean] = [[], false];
  for (const given of session) {
    if (roleOf(given) !== "ai") {
      view.push(given);
      continue;
    }
    const outcome = await reducer.reduceWithOutcome(view, undefined, request);
    view = [...outcome.messages];
    isCut ||= outcome.changed;
    let billed = truth.fixed;
    for (const message of view) {
      const tokens = counts.get(message) ?? (await truth.countMessage(message));
      counts.set(message, tokens);
      billed += tokens;
    }
    billed = Math.ceil(billed);
    const measured = (await reducer.measure(view, request))!;
    const usage_metadata = { input_tokens: billed, output_tokens: 10, total_tokens: billed + 10 };
    const { content, tool_calls } = given as AIMessage;
    const answer = new AIMessage({ content, tool_calls: tool_calls ?? [], usage_metadata });
    noteAsked(answer, measured.askedAs!, measured.size.estimate);
    view.push(answer);
    played.push({ billed, thought: measured.size.tokens, isCut, isShorter: outcome.changed });
  }
  return played;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

const names = ["the tokenizer of OpenAI", "another one, with blocks", "one that is finer by a third"];
/** The largest mean error of an estimate, and the largest underestimate. */
const [meanError, tooLow] = [0.006, 0.05];

describe.each([8_192, 32_768])("recorded sessions with a system prompt and tools, in a window of %d", (window) => {
  it.each(names)("never exceed it by %s, fill it, and are known to a percent", async (name) => {
    const truth = (await truths())[name]!;
    const sessions: Played[][] = [];
    for (const session of sessionsOfTen()) {
      sessions.push(await play(session, window, truth));
    }
    const all = sessions.flat();
    const room = window - window / 10;
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter(({ billed }) => billed > room)).toEqual([]);
    const errors = sessions.flatMap((played) => played.slice(1)).map(({ billed, thought }) => thought / billed - 1);
    // The repository's own conversations are one session, in which a cut's error weighs more.
    const most = sessions.length > 1 ? meanError : 1.5 * meanError;
    expect(mean(errors.map(Math.abs))).toBeLessThanOrEqual(most);
    expect(Math.min(...errors)).toBeGreaterThanOrEqual(-tooLow);
    const behindCuts = all.filter(({ isShorter }) => isShorter).map(({ billed, thought }) => thought / billed - 1);
    expect(Math.max(0, ...behindCuts.map(Math.abs))).toBeLessThanOrEqual(tooLow);
    // Few sessions are several times the larger window.
    const filled = all.filter(({ isCut }) => isCut && window === 8_192).map(({ billed }) => billed / room);
    expect(filled.length > 0).toBe(window === 8_192);
    expect(filled.length === 0 || mean(filled) >= 0.75).toBe(true);
  });
});
