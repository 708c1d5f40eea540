import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import { Redis } from "ioredis";
import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { interleave, type Runner } from "../measure/interleave.js";
import { barsOf } from "../report/charts.js";
import { atLeast, atMost, comparisonTable } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Case, Section, Setting } from "../report/section.js";
import { names, openContenders, sessionTTL, type Contender } from "../setting/contenders.js";
import { conversation, sentence } from "../setting/messages.js";
import { startSlowNetwork } from "../setting/proxy.js";

const latencies = [0, 1, 5];
const turnsPerSession = 10;
const lengthBefore = 20;
const byLatency = {
  file: "a-turn-by-latency",
  title: "How long a turn of a chain takes",
  xLabel: "latency of the network",
};

/** Time of a whole turn of a chain: read, prompt, model (which answers at once), write. */
export async function turnSuite({ server, quick }: Setting): Promise<Section> {
  const direct: Case = { name: "no proxy", measured: await compareTurns(server.url, quick ? 3 : 400) };
  const cases: Case[] = [];
  for (const latency of latencies) {
    const network = await startSlowNetwork(server.port, latency);
    cases.push({
      name: `${latency} ms`,
      measured: await compareTurns(network.url, quick ? 2 : { 0: 200, 1: 120, 5: 40 }[latency]!),
    });
    network.stop();
  }
  const [ours, ...peers] = cases[1]!.measured.map(({ median }) => median);
  const [loopback, ...peersThere] = direct.measured.map(({ median }) => median);
  return {
    title: "A turn of a chain",
    about:
      `Prompt with history, a model that answers at once, histories of ${lengthBefore} to ` +
      `${lengthBefore + 2 * turnsPerSession} messages with a time to live: \`withRedisMemory\` against ` +
      `\`RunnableWithMessageHistory\` with the peers' histories, all with \`historyMessagesKey\`, the ` +
      "peers' best case. " +
      "What LangChain itself costs is in all of them. Latency is added to each reply by a proxy; 0 ms goes " +
      "through it too.",
    tables: [comparisonTable("A turn, by network latency", [direct, ...cases])],
    pictures: [barsOf(byLatency, cases)],
    targets: [
      atMost("a turn of a chain on loopback, against the faster peer", 1.2, loopback! / Math.min(...peersThere)),
      atLeast("a turn of a chain at 1 ms of latency, against the faster peer", 2, Math.min(...peers) / ours!),
    ],
    headlines: [
      timeHeadline({
        what: "a turn of a chain at 1 ms of network latency",
        inReadme: true,
        ours: ours!,
        others: peers,
      }),
    ],
  };
}

async function compareTurns(url: string, rounds: number) {
  const contenders = openContenders(url);
  const client = new Redis(url);
  const memory = new RedisChatMemory({ client, sessionTTL });
  const chains = contenders.map((contender) =>
    contender.name === names.ours ? ourChain(memory) : peerChain(contender),
  );
  const runners = contenders.map((contender, index) => turnRunner(contender, chains[index]!));
  const measured = await interleave(runners, { rounds, warmup: Math.max(1, Math.ceil(rounds / 8)) });
  await Promise.all([client.disconnect(), ...contenders.map((contender) => contender.close())]);
  return measured;
}

type Chain = Runnable<{ input: BaseMessage[] }, BaseMessage>;

function chain() {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "You are kind."],
    new MessagesPlaceholder("history"),
    new MessagesPlaceholder("input"),
  ]);
  let answers = 0;
  return prompt.pipe(
    RunnableLambda.from(() => new AIMessage({ id: randomUUID(), content: sentence((answers += 1), 30) })),
  );
}

function ourChain(memory: RedisChatMemory): Chain {
  return withRedisMemory(chain(), {
    memory,
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  }) as unknown as Chain;
}

function peerChain({ history }: Contender): Chain {
  const wrapped = new RunnableWithMessageHistory({
    runnable: chain(),
    getMessageHistory: (sessionId: string) => history(sessionId) as never,
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });
  return wrapped as unknown as Chain;
}

function turnRunner({ name, fill }: Contender, wrapped: Chain): Runner<never> {
  let sessionId = "";
  return {
    name,
    prepare: async (round) => {
      if (round % turnsPerSession === 0) {
        sessionId = `${name}-turn-${randomUUID()}`;
        await fill(sessionId, conversation(lengthBefore));
      }
      return [new HumanMessage({ id: randomUUID(), content: sentence(round, 40) })] as never;
    },
    run: (input: BaseMessage[]) => wrapped.invoke({ input }, { configurable: { sessionId } }),
  };
}
