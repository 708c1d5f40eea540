import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { type Runnable, RunnableLambda } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../../src/entries/agent.js";
import {
  InMemorySessionStore,
  type MemorySettings,
  RedisChatMemory,
  withRedisMemory,
} from "../../../src/entries/index.js";
import { wired } from "../../../src/entries/structure.js";
import { HistoryManager } from "../../../src/entries/tool-loop.js";
import { type ProviderServer, startProviderServer } from "../../../testing/provider-server.js";
import type { ProviderReply } from "../../../testing/wire/answers/answer.js";
import type { Cell, DoorProvider } from "./cells.js";
import { providers } from "./providers.js";

const found = `found ${"much ".repeat(40)}`;
const lookup = tool(() => found, {
  name: "lookup",
  description: "Looks something up.",
  schema: z.object({ query: z.string() }),
});
const another = tool(() => found, { name: "another", description: "Another one.", schema: z.object({}) });
const prompt = (system: string) =>
  ChatPromptTemplate.fromMessages([
    ["system", system],
    ["placeholder", "{history}"],
    ["placeholder", "{input}"],
  ]);

/** One call of a door. */
export interface Asked {
  /** @default "ann" */
  readonly session?: string;
  /** @default "Be brief." */
  readonly system?: string;
  /** Names the turn, so that a retry is the same turn. @default none */
  readonly turnId?: string;
  /** A system message behind the question. @default none */
  readonly late?: string;
  /** Whether the model has one more tool. @default false */
  readonly hasMoreTools?: boolean;
  /** The user's name. @default none */
  readonly name?: string;
  /** The provider that answers. @default the scene's own */
  readonly provider?: DoorProvider;
}

/** A conversation through one door, with servers that refuse what their provider refuses. */
export class Scene {
  readonly memory: RedisChatMemory;
  /** Errors of runs that should have succeeded. */
  readonly failed: string[] = [];
  /** The same sessions, as another instance of the application has them. */
  readonly #elsewhere: RedisChatMemory;
  readonly #servers = new Map<DoorProvider, ProviderServer>();
  /** The trouble that the next request meets in place of its answer. */
  #trouble: "fails" | AbortController | undefined;
  #isTroubleAtResult = false;
  /** Whether the next run waits for a person in front of its calls. */
  #waitsForPerson = false;
  #requestsBefore = 0;
  #hasWaited = false;

  constructor(
    readonly cell: Cell,
    settings: MemorySettings,
  ) {
    const store = new InMemorySessionStore();
    this.memory = new RedisChatMemory({ store, ...settings });
    this.#elsewhere = new RedisChatMemory({ store, ...settings });
  }

  /** The history of a session. */
  history(session = "ann") {
    return this.memory.history(session);
  }

  /** Asks, and runs the model's calls. Failures are noted. */
  async ask(question: string, asked: Asked = {}): Promise<void> {
    await this.#run(question, asked).catch((error: unknown) => {
      this.failed.push(`${question}: ${error instanceof Error ? error.message : String(error)}`.slice(0, 300));
    });
  }

  /** Asks a provider that fails once, at the question or behind the first step. True if the run failed. */
  askInVain(question: string, at: "question" | "step", asked: Asked): Promise<boolean> {
    this.#trouble = "fails";
    this.#isTroubleAtResult = at === "step";
    return this.#run(question, asked).then(
      () => false,
      () => true,
    );
  }

  /** Asks and stops: a stream at its first piece, else while the provider has the request. True if the run ended. */
  async askAndStop(question: string, asked: Asked = {}): Promise<boolean> {
    const controller = new AbortController();
    this.#trouble = this.cell.mode === "invoke" ? controller : undefined;
    await this.#run(question, asked, controller).catch(() => undefined);
    await this.memory.drain();
    return controller.signal.aborted;
  }

  /** Asks, and waits for a person before the calls are run, by another instance. True if the run waited. */
  async askAndWait(question: string, asked: Asked = {}): Promise<boolean> {
    this.#waitsForPerson = true;
    this.#requestsBefore = this.requests.length;
    await this.ask(question, asked);
    return this.#hasWaited;
  }

  /** Adapters of other providers; two servers of one kind would give the same ids. */
  get otherProviders(): readonly DoorProvider[] {
    const { kind } = providers[this.cell.provider];
    // Behind OpenAI's answers, a ChatGoogle out of sight reads no calls: the matrix lists it.
    const unread = kind.startsWith("openai") ? "google" : "responses";
    return (["anthropic", "responses", "google"] as const).filter(
      (name) => providers[name].kind !== kind && (this.cell.door !== "hidden" || name !== unread),
    );
  }

  /** Every request, oldest first; those of another provider in front. */
  get requests() {
    return [...this.#servers.values()].flatMap(({ requests }) => requests);
  }

  async close(): Promise<void> {
    await Promise.all([this.memory.close(), this.#elsewhere.close()]);
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #run(question: string, asked: Asked, stop?: AbortController): Promise<void> {
    const { session = "ann", turnId, name, late, hasMoreTools, provider = this.cell.provider } = asked;
    const model = await this.#model(provider);
    const config = {
      configurable: { sessionId: session, thread_id: session, ...(turnId !== undefined && { turnId }) },
      ...(stop && { signal: stop.signal }),
    };
    const first = new HumanMessage({ content: question, ...(turnId && { id: turnId }), ...(name && { name }) });
    const input = [first, ...(late === undefined ? [] : [new SystemMessage(late)])];
    const tools = hasMoreTools === true ? [lookup, another] : [lookup];
    const { system = "Be brief." } = asked;
    const run = { input, tools, system, config, stop, provider };
    const { door } = this.cell;
    return door === "agent"
      ? this.#runAgent(model, run)
      : door === "loop"
        ? this.#runLoop(model, run)
        : this.#runChain(model, run);
  }

  async #runAgent(model: BaseChatModel, { input, tools, system, config, stop }: Run): Promise<void> {
    const waits = this.#waitsForPerson;
    const checkpointer = new MemorySaver();
    const call = async (memory: RedisChatMemory, given: { readonly messages: BaseMessage[] } | Command) => {
      const middleware = [redisMemoryMiddleware({ memory }), ...(waits ? [approval] : [])];
      const agent = createAgent({ model, tools, systemPrompt: system, middleware, ...(waits && { checkpointer }) });
      if (this.cell.mode === "invoke") {
        await agent.invoke(given, config);
        return;
      }
      for await (const _ of await agent.stream(given, { ...config, streamMode: "messages" })) {
        stop?.abort();
      }
    };
    await call(this.memory, { messages: input });
    if (waits) {
      const approve = { type: "approve" };
      await call(this.#goOnElsewhere(), new Command({ resume: { decisions: [approve, approve] } }));
    }
  }

  /** Calls of the model are run by the application, each step a run of its own. */
  async #runChain(model: BaseChatModel, { input: first, tools, system, config, stop, provider }: Run): Promise<void> {
    const bound = model.bindTools!(tools) as unknown as BaseChatModel;
    const { door } = this.cell;
    const called = door === "wired chain" ? wired(bound) : door === "hidden" ? hiddenIn(bound) : bound;
    const runnable = prompt(system).pipe(called) as Runnable;
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };
    let input: BaseMessage[] = first;
    for (let step = 0; input.length > 0; step += 1) {
      const memory = step > 0 && this.#waitsForPerson ? this.#goOnElsewhere() : this.memory;
      const chain = withRedisMemory(runnable, { memory, ...keys });
      const { turnId } = config.configurable;
      const named = turnId === undefined ? {} : { turnId: `${turnId}-${step}` };
      const own = { ...config, configurable: { ...config.configurable, ...named } };
      const answer = (await (this.cell.mode === "invoke"
        ? chain.invoke({ input }, own)
        : gather(await chain.stream({ input }, own), stop))) as AIMessage;
      input = (answer.tool_calls ?? []).map(({ id, name }) => {
        return new ToolMessage({ content: found, name, tool_call_id: id!, id: `result ${provider} ${id!}` });
      });
    }
  }

  async #runLoop(model: BaseChatModel, { input, tools, system, config }: Run): Promise<void> {
    const bound = model.bindTools!(tools);
    const { sessionId, turnId } = config.configurable;
    const manager = new HistoryManager({ history: this.history(sessionId), model: bound, maxInputTokens: 100_000 });
    const { text } = input[0]!;
    const question = { originalUserMessage: text, renderedUserMessage: text, renderedSystemMessage: system };
    for (let calls = 1; calls > 0;) {
      const { messages } = await manager.getHistoryForModelCall({
        ...question,
        ...(turnId !== undefined && { turnId }),
      });
      const answer = (await bound.invoke(messages)) as AIMessage;
      manager.addAssistantMessage(answer);
      const results = (answer.tool_calls ?? []).map(({ id, name }) => ({ id: id!, name, content: found }));
      await manager.addToolCallResults(results);
      calls = results.length;
    }
    await manager.commit();
  }

  /** The memory of the instance on which a person answers. */
  #goOnElsewhere(): RedisChatMemory {
    this.#waitsForPerson = false;
    this.#hasWaited = this.requests.length === this.#requestsBefore + 1;
    return this.#elsewhere;
  }

  async #model(provider: DoorProvider): Promise<BaseChatModel> {
    const { kind, model } = providers[provider];
    const server =
      this.#servers.get(provider) ?? (await startProviderServer({ kind, reply: (body) => this.#reply(body) }));
    this.#servers.set(provider, server);
    return model(server.url);
  }

  #reply(body: Readonly<Record<string, unknown>>): ProviderReply {
    const last = JSON.stringify(((body["contents"] ?? body["messages"] ?? body["input"]) as unknown[]).at(-1));
    const isResult = /"tool_result"|"function_call_output"|"role":"tool"|"functionResponse"|"toolResult"/.test(last);
    const trouble = isResult === this.#isTroubleAtResult ? this.#trouble : undefined;
    if (trouble !== undefined) {
      this.#trouble = undefined;
      this.#isTroubleAtResult = false;
    }
    if (trouble === "fails") {
      return { failure: { status: 500, message: "Overloaded." } };
    }
    trouble?.abort();
    const call = { name: "lookup", arguments: { query: "x" } };
    return isResult
      ? { thinking: "So it is.", content: "It is so." }
      : { thinking: "I should look.", content: "I look.", toolCalls: [call, call] };
  }
}

/** A function that calls the model, as an application writes it that chooses one by the request. */
function hiddenIn(model: BaseChatModel): Runnable<BaseLanguageModelInput, AIMessageChunk> {
  return RunnableLambda.from((input: BaseLanguageModelInput, config) => model.invoke(input, config));
}

const approval = humanInTheLoopMiddleware({ interruptOn: { lookup: { allowedDecisions: ["approve"] } } });

interface Run {
  readonly input: BaseMessage[];
  readonly tools: (typeof lookup | typeof another)[];
  readonly system: string;
  readonly config: {
    readonly configurable: { readonly sessionId: string; readonly turnId?: string };
    readonly signal?: AbortSignal;
  };
  readonly stop: AbortController | undefined;
  readonly provider: DoorProvider;
}

async function gather(stream: AsyncIterable<unknown>, stop: AbortController | undefined): Promise<AIMessageChunk> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as AIMessageChunk);
    stop?.abort();
  }
  return chunks.reduce((all, chunk) => all.concat(chunk));
}
