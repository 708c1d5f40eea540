import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import type { Runnable } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  InMemorySessionStore,
  type MemorySettings,
  RedisChatMemory,
  withRedisMemory,
} from "../../src/entries/index.js";
import { wired } from "../../src/entries/structure.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import type { ProviderReply } from "../../testing/wire/answers/answer.js";
import type { Cell, DoorProvider } from "./cells.js";
import { providers } from "./providers.js";

const found = `found ${"much ".repeat(40)}`;
const lookup = tool(() => found, {
  name: "lookup",
  description: "Looks something up.",
  schema: z.object({ query: z.string() }),
});
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
  readonly #servers = new Map<DoorProvider, ProviderServer>();
  /** The trouble that the next request meets in place of its answer. */
  #trouble: "fails" | AbortController | undefined;
  #isTroubleAtResult = false;

  constructor(
    private readonly cell: Cell,
    settings: MemorySettings,
  ) {
    this.memory = new RedisChatMemory({ store: new InMemorySessionStore(), ...settings });
  }

  /** The history of a session. */
  history(session = "ann") {
    return this.memory.history(session);
  }

  /** Asks, and runs the model's calls. What goes wrong is noted. */
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
  async askAndStop(question: string): Promise<boolean> {
    const controller = new AbortController();
    this.#trouble = this.cell.mode === "invoke" ? controller : undefined;
    await this.#run(question, {}, controller).catch(() => undefined);
    await this.memory.drain();
    return controller.signal.aborted;
  }

  /** Adapters of other providers; two servers of one kind would give the same ids. */
  get otherProviders(): readonly DoorProvider[] {
    const { kind } = providers[this.cell.provider];
    return (["anthropic", "responses", "google"] as const).filter((name) => providers[name].kind !== kind);
  }

  /** Every request, oldest first; those of another provider in front. */
  get requests() {
    return [...this.#servers.values()].flatMap(({ requests }) => requests);
  }

  async close(): Promise<void> {
    await this.memory.close();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #run(question: string, asked: Asked, stop?: AbortController): Promise<void> {
    const { session = "ann", turnId, name, provider = this.cell.provider } = asked;
    const model = await this.#model(provider);
    const config = {
      configurable: { sessionId: session, ...(turnId !== undefined && { turnId }) },
      ...(stop && { signal: stop.signal }),
    };
    const first = new HumanMessage({ content: question, ...(turnId && { id: turnId }), ...(name && { name }) });
    const { system = "Be brief." } = asked;
    const run = { first, system, config, stop, provider };
    return this.cell.door === "agent" ? this.#runAgent(model, run) : this.#runChain(model, run);
  }

  async #runAgent(model: BaseChatModel, { first, system, config, stop }: Run): Promise<void> {
    const middleware = [redisMemoryMiddleware({ memory: this.memory })];
    const agent = createAgent({ model, tools: [lookup], systemPrompt: system, middleware });
    const input = { messages: [first] };
    if (this.cell.mode === "invoke") {
      await agent.invoke(input, config);
      return;
    }
    for await (const _ of await agent.stream(input, { ...config, streamMode: "messages" })) {
      stop?.abort();
    }
  }

  /** Calls of the model are run by the application, each step a run of its own. */
  async #runChain(model: BaseChatModel, { first, system, config, stop, provider }: Run): Promise<void> {
    const bound = model.bindTools!([lookup]) as unknown as BaseChatModel;
    const runnable = prompt(system).pipe(this.cell.door === "chain" ? bound : wired(bound)) as Runnable;
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };
    const chain = withRedisMemory(runnable, { memory: this.memory, ...keys });
    let input: BaseMessage[] = [first];
    for (let step = 0; input.length > 0; step += 1) {
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

interface Run {
  readonly first: HumanMessage;
  readonly system: string;
  readonly config: { readonly configurable: { readonly turnId?: string }; readonly signal?: AbortSignal };
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
