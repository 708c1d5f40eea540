import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import { Redis } from "ioredis";
import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { interleave, type Rounds, type Runner } from "../measure/interleave.js";
import { barsOf } from "../report/charts.js";
import { atLeast, atMost, comparisonTable, whole } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Case, Section, Setting } from "../report/section.js";
import { names, openContenders, sessionTTL, type Contender } from "../setting/contenders.js";
import { conversation, sentence } from "../setting/messages.js";
import { startSlowNetwork } from "../setting/proxy.js";

const latencies = [0, 1, 5];
const turnsPerSession = 10;
const lengthBefore = 20;
/** Turns before the first that counts: V8 has compiled the code of all contenders by then. */
const untilCompiled = 2_000;
const byLatency = {
  file: "a-turn-by-latency",
  title: "How long a turn of a chain takes",
  xLabel: "latency of the network",
};

/** Time of a whole turn of a chain: read, prompt, model (which answers at once), write. */
export async function turnSuite({ server, quick }: Setting): Promise<Section> {
  const few = { rounds: 3, warmup: 1 };
  const direct: Case = {
    name: "no proxy",
    measured: await compareTurns(server.url, quick ? few : { rounds: 400, warmup: untilCompiled }),
  };
  const cases: Case[] = [];
  for (const latency of latencies) {
    const network = await startSlowNetwork(server.port, latency);
    const rounds = { 0: 200, 1: 120, 5: 40 }[latency]!;
    cases.push({
      name: `${latency} ms`,
      measured: await compareTurns(network.url, quick ? few : { rounds, warmup: Math.ceil(rounds / 8) }),
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
      `Each has played ${whole(untilCompiled)} turns before, as a process that serves: until its code is compiled, a ` +
      "turn of this package takes twice as long as one of the peers. " +
      "What LangChain itself costs is in all of them. Latency is added to each reply by a proxy; 0 ms goes " +
      "through it too.",
    tables: [comparisonTable("A turn, by network latency", [direct, ...cases])],
    pictures: [barsOf(byLatency, cases)],
    targets: [
      atMost("a turn of a chain on loopback, against the faster peer", 1, loopback! / Math.min(...peersThere)),
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

async function compareTurns(url: string, rounds: Rounds) {
  const contenders = openContenders(url);
  const client = new Redis(url);
  const memory = new RedisChatMemory({ client, sessionTTL });
  const chains = contenders.map((contender) =>
    contender.name === names.ours ? ourChain(memory) : peerChain(contender),
  );
  const runners = contenders.map((contender, index) => turnRunner(contender, chains[index]!));
  const measured = await interleave(runners, rounds);
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
