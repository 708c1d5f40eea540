import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type { BaseMessage } from "@langchain/core/messages";
import { interleave, type Runner } from "../measure/interleave.js";
import { ratioOf, type Measured } from "../measure/statistics.js";
import { chartOf } from "../report/charts.js";
import { atLeast, atMost, comparisonTable } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Case, Section, Setting } from "../report/section.js";
import { listElements, names, openContenders, sessionTTL, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";
import { startSlowNetwork } from "../setting/proxy.js";

const sizes = [1, 2, 10, 100];
const latencies = [0, 1, 5];
/** A session takes so many appends before the next begins. */
const appendsPerSession = 50;

/** Time of adding a turn to sessions that expire. */
export async function appendSuite({ server, quick }: Setting): Promise<Section> {
  const contenders = openContenders(server.url);
  const client = new Redis(server.url);
  const bySize: Case[] = [];
  for (const size of sizes) {
    const rounds = quick ? 4 : size === 100 ? 200 : 800;
    const measured = await compareAppends({ contenders, client }, { size, rounds });
    bySize.push({ name: `${size} ${size === 1 ? "message" : "messages"}`, measured });
  }
  const byLength = await growth(contenders[0]!, quick);
  await closeAll(contenders, client);
  const byLatency = await overNetworks(server.port, quick);
  return section({ bySize, byLatency, byLength });
}

async function overNetworks(port: number, quick: boolean): Promise<Case[]> {
  const cases: Case[] = [];
  for (const latency of latencies) {
    const network = await startSlowNetwork(port, latency);
    const contenders = openContenders(network.url);
    const client = new Redis(network.url);
    const rounds = quick ? 2 : { 0: 200, 1: 80, 5: 16 }[latency]!;
    cases.push({ name: `${latency} ms`, measured: await compareAppends({ contenders, client }, { size: 10, rounds }) });
    await closeAll(contenders, client);
    network.stop();
  }
  return cases;
}

interface Clients {
  readonly contenders: readonly Contender[];
  readonly client: Redis;
}

async function compareAppends(
  { contenders, client }: Clients,
  { size, rounds }: { readonly size: number; readonly rounds: number },
): Promise<Measured[]> {
  const run = randomUUID();
  const session = (round: number) => `${run}-${Math.floor(round / appendsPerSession)}`;
  const runners = contenders.map(({ name, history }): Runner<never> => ({
    name,
    prepare: (round) => ({ history: history(`${name}-${session(round)}`), messages: conversation(size) }) as never,
    run: ({ history: to, messages }: { history: ReturnType<typeof history>; messages: BaseMessage[] }) =>
      to.addMessages(messages),
  }));
  const raw: Runner<never> = {
    name: names.raw,
    prepare: (round) => ({ key: `raw-${session(round)}`, elements: listElements(conversation(size)) }) as never,
    run: ({ key, elements }: { key: string; elements: string[] }) =>
      client
        .multi()
        .rpush(key, ...elements)
        .pexpire(key, sessionTTL * 1000)
        .exec(),
  };
  return interleave([...runners, raw], { rounds, warmup: Math.ceil(rounds / 8) });
}

/** Appends of a turn of two to sessions of ever greater length. */
async function growth(ours: Contender, quick: boolean): Promise<Case> {
  const lengths = quick ? [10, 100] : [10, 1_000, 100_000];
  const run = randomUUID();
  for (const length of lengths) {
    await ours.fill(`${run}-${length}`, conversation(length));
  }
  const runners = lengths.map((length): Runner<never> => ({
    name: `at ${length.toLocaleString("en-US")}`,
    prepare: () => conversation(2) as never,
    run: (messages: BaseMessage[]) => ours.history(`${run}-${length}`).addMessages(messages),
  }));
  const measured = await interleave(runners, { rounds: quick ? 4 : 500, warmup: quick ? 1 : 50 });
  return { name: "2 messages", measured };
}

async function closeAll(contenders: readonly Contender[], client: Redis): Promise<void> {
  await Promise.all([client.disconnect(), ...contenders.map((contender) => contender.close())]);
}

function section({ bySize, byLatency, byLength }: { bySize: Case[]; byLatency: Case[]; byLength: Case }): Section {
  const ten = bySize[sizes.indexOf(10)]!.measured;
  const slow = byLatency[latencies.indexOf(1)]!.measured;
  const peers = (measured: readonly Measured[]) => measured.slice(1, 3).map(({ median }) => median);
  const fasterPeer = (measured: readonly Measured[]) => Math.min(...peers(measured)) / measured[0]!.median;
  const [first, last] = [byLength.measured[0]!, byLength.measured.at(-1)!];
  const line = (what: string, measured: readonly Measured[], inReadme: boolean) =>
    timeHeadline({ what, inReadme, ours: measured[0]!.median, others: peers(measured) });
  return {
    title: "Append",
    about:
      "Messages are added to sessions with a time to live. Raw ioredis is one MULTI of RPUSH and PEXPIRE " +
      "with elements that were serialized before: no ids, no idempotence, no digest. " +
      "The peers send two commands a message, one after the other. Latency is added to each reply by a " +
      "proxy in a process of its own; 0 ms goes through the same proxy.",
    tables: [
      comparisonTable("Append with a time to live, on loopback", bySize),
      comparisonTable("Append of 10 with a time to live, by network latency", byLatency),
      comparisonTable("Append of 2 by length of the history, langchain-redis-memory alone", [byLength]),
    ],
    charts: [chartOf("Append with TTL", "messages in one append", { cases: bySize, xs: sizes })],
    targets: [
      atLeast("append of 10 with TTL, against the faster peer, on loopback", 6, fasterPeer(ten)),
      atLeast("append of 10 with TTL, against the faster peer, at 1 ms", 15, fasterPeer(slow)),
      atMost("append of 2 to the longest history, against one to the shortest", 1.25, ratioOf(last, first).value),
    ],
    headlines: [
      line("append of 10 messages with TTL, loopback", ten, false),
      line("append of 10 messages with TTL at 1 ms of network latency", slow, true),
    ],
  };
}
