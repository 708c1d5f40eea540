import type { AIMessage } from "@langchain/core/messages";
import { type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { tool } from "@langchain/core/tools";
import fc from "fast-check";
import { z } from "zod";
import { copyMessage } from "../../src/store/codec/stored-record.js";
import {
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
} from "../../src/entries/index.js";
import {
  type AnswerPrefix,
  editMessage,
  repairConversation,
  stampAnswer,
  walkLedger,
} from "../../src/entries/structure.js";
import type { ProviderReply } from "../../testing/wire/answers/answer.js";
import { BindingClaude } from "../support/binding-claude.js";
import { forAllAsync } from "../support/property-runs.js";

const tokenCounter = approximateCounter();
const reducers: Record<string, () => ChatHistoryReducer> = {
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 5 }),
  tokens: () => new ChatHistoryTokenReducer({ maxTokens: 150, tokenCounter }),
  clip: () => new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 20 }),
  summary: () =>
    new ChatHistorySummarizationReducer({
      model: new FakeListChatModel({ responses: ["A summary."] }),
      targetCount: 5,
      tokenCounter,
    }),
};

interface Turn {
  readonly kind: "turn";
  readonly thinks: boolean;
  readonly steps: number;
  readonly isStreamed: boolean;
  readonly isStandard: boolean;
  readonly searches: boolean;
  /** The run waits for a person between a call and its result, and another process goes on. */
  readonly isInterrupted: boolean;
  /** Each request is sent twice, and the second answer counts. */
  readonly isRetried: boolean;
}

type Change =
  | { readonly kind: "reduce"; readonly by: string }
  | { readonly kind: "edit" | "rewind" | "fork" | "lost result" | "cut"; readonly at: number }
  | { readonly kind: "recall" | "system" | "tools" | "reload" | "marks" | "late system" };

const turn: fc.Arbitrary<Turn> = fc.record({
  kind: fc.constant("turn" as const),
  thinks: fc.boolean(),
  steps: fc.nat(2),
  isStreamed: fc.boolean(),
  isStandard: fc.boolean(),
  searches: fc.boolean(),
  isInterrupted: fc.boolean(),
  isRetried: fc.boolean(),
});
const at = fc.nat(20);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant("reduce" as const), by: fc.constantFrom(...Object.keys(reducers)) }),
  fc.record({ kind: fc.constantFrom("edit", "rewind", "fork", "lost result", "cut"), at }),
  fc.record({ kind: fc.constantFrom("recall", "system", "tools", "reload", "marks", "late system") }),
);
const histories = fc.array(fc.oneof({ weight: 3, arbitrary: turn }, { weight: 2, arbitrary: change }), {
  minLength: 3,
  maxLength: 10,
});

const lookup = (name: string) =>
  tool(() => "", { name, description: `Looks ${name} up.`, schema: z.object({ q: z.string() }) });
const toolLists = [[lookup("lookup")], [lookup("lookup"), lookup("other")]] as const;

interface Walked {
  /** Repaired, before and behind the ledger, and as they are sent. */
  readonly whole: readonly BaseMessage[];
  readonly walked: readonly BaseMessage[];
  readonly messages: readonly BaseMessage[];
  readonly prefix: AnswerPrefix;
  readonly tools: readonly object[];
}

/** A conversation with Claude through the ledger. */
class Conversation {
  readonly claude = new BindingClaude();
  history: BaseMessage[] = [];
  sent = 0;
  dropped = 0;
  #system = 0;
  #tools = 0;
  #recalled: string | undefined;
  #isMarked = false;
  #asked = 0;

  async change(given: Change): Promise<void> {
    const place = "at" in given ? given.at % (this.history.length + 1) : 0;
    switch (given.kind) {
      case "reduce":
        this.history = await reducers[given.by]!().invoke(this.history);
        break;
      case "edit":
        this.history = this.history.map((message, index) =>
          index === place ? editMessage(message, { text: (text) => text.replace("e", "3") }) : message,
        );
        break;
      case "cut":
        this.history = this.history.slice(place);
        break;
      case "rewind":
        this.history = this.history.slice(0, place);
        break;
      case "fork":
        this.history = this.history.slice(0, place).map(copyMessage);
        break;
      case "lost result":
        this.history = this.history.filter((message, index) => index < place || message.getType() !== "tool");
        break;
      case "late system":
        this.history.push(new SystemMessage("Be kind."));
        break;
      case "recall":
        this.#recalled = this.#recalled === undefined ? "The user likes tea." : undefined;
        break;
      case "reload":
        this.history = this.history.map(copyMessage);
        break;
      case "marks":
        this.#isMarked = !this.#isMarked;
        break;
      case "system":
        this.#system = 1 - this.#system;
        break;
      case "tools":
        this.#tools = 1 - this.#tools;
    }
  }

  async turn(given: Turn): Promise<void> {
    this.history.push(new HumanMessage(`Question ${(this.#asked += 1)}?`));
    for (let step = 0; step < given.steps; step += 1) {
      const calls = [
        { name: "lookup", arguments: { q: "tea", also: step } },
        ...(step === 1 ? [{ name: "lookup" }] : []),
      ];
      const answer = await this.#request(given, { content: step === 0 ? "I look." : "", toolCalls: calls });
      if (given.isInterrupted) {
        this.history = this.history.map(copyMessage);
      }
      for (const { id = "" } of answer.tool_calls ?? []) {
        this.history.push(new ToolMessage({ content: `found ${"much ".repeat(10)}`, tool_call_id: id }));
      }
    }
    await this.#request(given, { content: "The answer.", ...(given.searches && { search: "tea" }) });
  }

  async #request(given: Turn, said: ProviderReply): Promise<AIMessage> {
    const { thinks, isStreamed, isStandard, isRetried } = given;
    // The adapter loses parts of what it streams in LangChain's standard form.
    const call = { ...this.#walked(), isStreamed, isStandard: isStandard && !isStreamed };
    const reply = { ...said, ...(thinks && { thinking: `Thought ${this.#asked}.` }) };
    const first = await this.claude.ask(reply, call);
    const { answer, rules } = isRetried ? await this.claude.ask(reply, call) : first;
    // The other rules are the projection's.
    expect(rules.filter((rule) => rule.endsWith("-thought"))).toEqual([]);
    await this.#expectNothingValidLeftOut(call);
    const stamped = stampAnswer(answer, call.prefix);
    this.history.push(stamped);
    return stamped;
  }

  /** What goes to the model, as the doors make it. */
  #walked(): Walked {
    const prompt = new SystemMessage(`Prompt ${this.#system}.`);
    const list = [prompt, ...this.#withRecalled()];
    const { messages: whole } = repairConversation(list, { profile: "anthropic", purpose: "model-input" });
    const tools = toolLists[this.#tools]!;
    const walk = walkLedger(whole, { tools });
    expect(walkLedger(whole, { tools }).messages).toEqual(walk.messages);
    this.sent += walk.sent;
    this.dropped += walk.dropped;
    const messages = this.#isMarked ? walk.messages.map(withMark) : walk.messages;
    return { messages, whole, walked: walk.messages, prefix: walk.prefix, tools };
  }

  #withRecalled(): BaseMessage[] {
    const context = new HumanMessage(this.#recalled ?? "");
    return this.#recalled === undefined ? this.history : [context, ...this.history];
  }

  async #expectNothingValidLeftOut({ whole, walked, tools }: Walked): Promise<void> {
    for (const [index, message] of whole.entries()) {
      if (message !== walked[index]) {
        const { valid, all } = await this.claude.thoughtsAtEnd({
          messages: [...walked.slice(0, index), message],
          tools,
        });
        expect(all).toBeGreaterThan(0);
        expect(valid).toBeLessThan(all);
      }
    }
  }
}

it("keeps each thought behind the very prefix that it was made to, and leaves out no other", async () => {
  let [sent, dropped] = [0, 0];
  await forAllAsync(60, histories, async (steps) => {
    const conversation = new Conversation();
    for (const step of steps) {
      await (step.kind === "turn" ? conversation.turn(step) : conversation.change(step));
    }
    sent += conversation.sent;
    dropped += conversation.dropped;
  });
  expect(Math.min(sent, dropped)).toBeGreaterThan(10);
});

/** A text with a mark for the provider's prompt cache. */
function withMark(message: BaseMessage): BaseMessage {
  const { content, id, name } = message;
  const block = { type: "text", text: content, cache_control: { type: "ephemeral" } };
  const isMarkable = message.getType() === "human" && typeof content === "string" && content !== "";
  return isMarkable
    ? new HumanMessage({ content: [block], ...(id && { id }), ...(name && { name }) } as never)
    : message;
}
