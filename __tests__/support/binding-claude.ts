import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { answerAsAnthropic } from "../../testing/wire/answers/anthropic.js";
import type { ProviderReply } from "../../testing/wire/answers/answer.js";
import { placeThoughts, type PlacedThought } from "../../testing/wire/anthropic/prefix.js";
import { checkWire } from "../../testing/wire/check-wire.js";
import { fieldsIn, type Fields } from "../../testing/wire/json.js";
import { ProviderMemory } from "../../testing/wire/provider-memory.js";
import { all } from "./all.js";

/** A request of {@link BindingClaude}: the messages, the tools, and how it is sent. */
export interface ClaudeCall {
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly object[];
  readonly isStreamed?: boolean;
  readonly isStandard?: boolean;
}

/** ChatAnthropic with a client in this process that binds each thought to what stood before it. */
export class BindingClaude {
  readonly memory = new ProviderMemory();
  readonly bodies: Fields[] = [];
  #reply: ProviderReply | undefined;
  #last: Fields = {};
  readonly #model: ChatAnthropic;
  readonly #standard: ChatAnthropic;

  constructor() {
    const create = (body: Fields) => Promise.resolve(this.#create(body));
    const createClient = () => ({ messages: { create } });
    const fields = { model: "claude-opus-5-5", apiKey: "none", createClient, maxRetries: 0 };
    this.#model = new ChatAnthropic(fields);
    this.#standard = new ChatAnthropic({ ...fields, outputVersion: "v1" });
  }

  /** The answer as the adapter makes it, and what the provider refuses in the request. */
  async ask(reply: ProviderReply, { messages, tools, isStreamed, isStandard }: ClaudeCall) {
    this.#reply = reply;
    const model = bound(isStandard === true ? this.#standard : this.#model, tools);
    const answer = isStreamed === true ? await gather(model, messages) : await model.invoke([...messages]);
    this.bodies.push(this.#last);
    const violations = checkWire("anthropic", this.#last, { memory: this.memory });
    return { answer: answer as AIMessage, rules: violations.map(({ rule }) => rule) };
  }

  /** The thoughts of the last of these messages that stand behind their prefix, of all its thoughts. */
  async thoughtsAtEnd(call: ClaudeCall): Promise<{ readonly valid: number; readonly all: number }> {
    this.#reply = undefined;
    await bound(this.#model, call.tools).invoke([...call.messages]);
    const { thoughts } = placeThoughts(this.#last);
    const place = `messages[${(this.#last["messages"] as unknown[]).length - 1}]`;
    const own = thoughts.filter(({ path }) => path.startsWith(place));
    const isValid = ({ proof = "", prefix }: PlacedThought) => this.memory.prefixOf(proof) === prefix;
    return { valid: own.filter(isValid).length, all: own.length };
  }

  #create(given: Fields): unknown {
    const body = fieldsIn(JSON.parse(JSON.stringify(given)));
    this.#last = body;
    const request = { body, model: "claude-opus-5-5", count: this.bodies.length + 1, memory: this.memory };
    const memory = this.#reply === undefined ? new ProviderMemory() : this.memory;
    const { whole, events } = answerAsAnthropic(this.#reply ?? { content: "ok" }, { ...request, memory });
    const copies = events.map(({ data }) => JSON.parse(JSON.stringify(data)) as object);
    return body["stream"] === true
      ? (async function* () {
          yield* copies;
        })()
      : JSON.parse(JSON.stringify(whole));
  }
}

const bindings = new WeakMap<ChatAnthropic, Map<object, ReturnType<ChatAnthropic["bindTools"]>>>();

/** Converts the tools once. */
function bound(model: ChatAnthropic, tools: readonly object[]): ReturnType<ChatAnthropic["bindTools"]> {
  const known = bindings.get(model) ?? new Map<object, ReturnType<ChatAnthropic["bindTools"]>>();
  bindings.set(model, known);
  const made = known.get(tools) ?? model.bindTools(model.formatStructuredToolToAnthropic([...tools] as never) as never);
  known.set(tools, made);
  return made;
}

interface Streaming {
  stream(messages: BaseMessage[]): Promise<AsyncIterable<AIMessageChunk>>;
}

async function gather(model: unknown, messages: readonly BaseMessage[]): Promise<AIMessageChunk> {
  const chunks: AIMessageChunk[] = await all(await (model as Streaming).stream([...messages]));
  return chunks.reduce((all, chunk) => all.concat(chunk));
}
