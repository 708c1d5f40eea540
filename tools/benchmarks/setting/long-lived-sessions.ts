import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { Redis } from "ioredis";
import {
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  RedisChatMemory,
  withRedisMemory,
  type MemoryEvent,
} from "langchain-redis-memory";
import { conversation, sentence } from "./messages.js";

/** How many of each kind of work were done. */
export interface WorkCounts {
  reads: number;
  messages: number;
  chains: number;
  pages: number;
}

interface Session {
  readonly id: string;
  readonly memory: RedisChatMemory;
  turns: number;
}

/** So many sessions are in use at a time; one that had its turns is left to expire, and another takes its place. */
const inUse = 200;
/** Every so many turns go through a chain, and as many read a page for a screen. */
const chainEvery = 10;
const pageEvery = 20;

/** Sessions that come, have their turns, and expire; half with a count of messages as limit, half with tokens. */
export class Sessions {
  readonly counts: WorkCounts = { reads: 0, messages: 0, chains: 0, pages: 0 };
  /** How often each event was reported. */
  readonly events = new Map<string, number>();
  turns = 0;
  opened = 0;
  readonly #client: Redis;
  readonly #memories: readonly RedisChatMemory[];
  readonly #chains: ReadonlyMap<RedisChatMemory, ReturnType<typeof chainOf>>;
  readonly #turnsPerSession: number;
  readonly #sessions: Session[] = [];
  readonly #sessionTTL: number;

  constructor(size: { url: string; sessionTTL: number; turns: number; sessions: number }) {
    this.#client = new Redis(size.url);
    this.#sessionTTL = size.sessionTTL;
    this.#turnsPerSession = Math.ceil(size.turns / size.sessions);
    const shared = { client: this.#client, sessionTTL: size.sessionTTL, onEvent: this.#count };
    this.#memories = [
      new RedisChatMemory({
        ...shared,
        reducer: new ChatHistoryTruncationReducer({ targetCount: 8, thresholdCount: 6 }),
      }),
      new RedisChatMemory({ ...shared, reducer: new ChatHistoryTokenReducer({ maxTokens: 700 }) }),
    ];
    this.#chains = new Map(this.#memories.map((memory) => [memory, chainOf(memory)]));
    for (let index = 0; index < Math.min(inUse, size.sessions); index += 1) {
      this.#sessions.push(this.#open());
    }
  }

  /** One turn of a session in use: a read, and a write of what the turn adds. */
  async turn(): Promise<void> {
    const place = Math.floor(Math.random() * this.#sessions.length);
    const session = this.#sessions[place]!;
    session.turns += 1;
    if (session.turns >= this.#turnsPerSession) {
      this.#sessions[place] = this.#open();
    }
    this.turns += 1;
    await (this.turns % chainEvery === 0 ? this.#chainTurn(session) : this.#plainTurn(session));
  }

  async #plainTurn({ id, memory }: Session): Promise<void> {
    const history = memory.history(id);
    if (this.turns % pageEvery === 1) {
      this.counts.pages += 1;
      await history.getPage({ limit: 10 });
    }
    await history.getMessages();
    // Every third turn calls a tool.
    const added = this.turns % 3 === 0 ? conversation(4) : conversation(2).map(withoutCalls);
    await history.addMessages(added);
    this.counts.reads += 1;
    this.counts.messages += added.length;
  }

  async #chainTurn({ id, memory }: Session): Promise<void> {
    const question = new HumanMessage({ id: randomUUID(), content: sentence(this.turns, 40) });
    await this.#chains.get(memory)!.invoke([question], { configurable: { sessionId: id } });
    this.counts.chains += 1;
    this.counts.reads += 1;
    this.counts.messages += 2;
  }

  /** Waits until the server has no key any more. */
  async waitUntilExpired(): Promise<void> {
    const until = Date.now() + 1000 * (this.#sessionTTL + 60);
    while ((await this.#client.dbsize()) > 0 && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#memories.map((memory) => memory.close()));
    this.#client.disconnect();
  }

  readonly #count = ({ type }: MemoryEvent): void => {
    this.events.set(type, (this.events.get(type) ?? 0) + 1);
  };

  #open(): Session {
    this.opened += 1;
    return { id: randomUUID(), memory: this.#memories[this.opened % this.#memories.length]!, turns: 0 };
  }
}

function withoutCalls(message: BaseMessage, index: number): BaseMessage {
  return message.getType() === "ai" ? new AIMessage({ id: message.id!, content: sentence(index, 30) }) : message;
}

function chainOf(memory: RedisChatMemory) {
  let answers = 0;
  const model = RunnableLambda.from(
    (_: BaseMessage[]) => new AIMessage({ id: randomUUID(), content: sentence((answers += 1), 30) }),
  );
  return withRedisMemory(model, { memory });
}
