import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
import { interleave, type Runner } from "../measure/interleave.js";
import { chartOf } from "../report/charts.js";
import { atMost, comparisonTable, whole } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Case, Section, Setting } from "../report/section.js";
import { names, openContenders, sessionTTL, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

/** Messages that the model sees where a window is set. */
const windowSize = 50;
const windowName = `a window of ${windowSize}`;

/** Time of reading a session: all of it, and the window that a reduction left. */
export async function viewSuite({ server, quick }: Setting): Promise<Section> {
  const contenders = openContenders(server.url);
  const client = new Redis(server.url);
  const reducer = new ChatHistoryTruncationReducer({ targetCount: windowSize });
  const memory = new RedisChatMemory({
    client,
    redis: { keyPrefix: "window" },
    sessionTTL,
    reducer,
    reduceWhen: "never",
  });
  const lengths = quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000, 100_000];
  const run = randomUUID();
  const cases: Case[] = [];
  for (const length of lengths) {
    await fill({ contenders, memory, session: `${run}-${length}`, length });
    const runners = [
      ...contenders.map((contender) => wholeRead(contender, `${run}-${length}`)),
      rawRead(client, `${names.community}-${run}-${length}`),
    ];
    cases.push({ name: whole(length), measured: await interleave(runners, roundsFor(length, quick)) });
    await client.unlink(...contenders.slice(1).map(({ name }) => `${name}-${run}-${length}`));
  }
  const windows = await interleave(
    lengths.slice(1).map((length): Runner<never> => {
      const history = memory.history(`${run}-${length}`);
      return { name: `log of ${whole(length)}`, prepare: () => undefined as never, run: () => history.getMessages() };
    }),
    { rounds: quick ? 4 : 400, warmup: quick ? 1 : 40 },
  );
  await Promise.all([client.disconnect(), ...contenders.map((contender) => contender.close())]);
  return section({ cases, windows: { name: windowName, measured: windows }, lengths });
}

async function fill({
  contenders,
  memory,
  session,
  length,
}: {
  contenders: Contender[];
  memory: RedisChatMemory;
  session: string;
  length: number;
}): Promise<void> {
  const messages = conversation(length);
  for (const contender of contenders) {
    await contender.fill(`${contender.name}-${session}`, messages);
  }
  const windowed = memory.history(session);
  for (let first = 0; first < length; first += 1_000) {
    await windowed.addMessages(messages.slice(first, first + 1_000));
  }
  await windowed.reduceView();
  const [all, seen] = [
    await contenders[0]!.history(`${names.ours}-${session}`).getMessages(),
    await windowed.getMessages(),
  ];
  if (all.length !== length || seen.length > windowSize + 4) {
    throw new Error(
      `Expected ${length} messages and some ${windowSize} in the window; got ${all.length} and ${seen.length}.`,
    );
  }
}

function wholeRead(contender: Contender, session: string): Runner<never> {
  const history = contender.history(`${contender.name}-${session}`);
  return { name: contender.name, prepare: () => undefined as never, run: () => history.getMessages() };
}

function rawRead(client: Redis, key: string): Runner<never> {
  return {
    name: `${names.raw} (LRANGE, not parsed)`,
    prepare: () => undefined as never,
    run: () => client.lrange(key, 0, -1),
  };
}

function roundsFor(length: number, quick: boolean) {
  const rounds = quick ? 3 : ({ 10: 600, 100: 400, 1_000: 150, 10_000: 32, 100_000: 8 }[length] ?? 100);
  return { rounds, warmup: Math.max(1, Math.ceil(rounds / 8)) };
}

function section({ cases, windows, lengths }: { cases: Case[]; windows: Case; lengths: readonly number[] }): Section {
  const against = cases.map(({ measured }) => measured[0]!.median / Math.min(measured[1]!.median, measured[2]!.median));
  const [shortest, longest] = [windows.measured[0]!.median, windows.measured.at(-1)!.median];
  const { measured: read } = cases.at(-1)!;
  const peers = [read[1]!.median, read[2]!.median];
  const chart = chartOf("Read by length of the history", "messages in the log", { cases, xs: lengths });
  const window = {
    name: windowName,
    points: windows.measured.map(({ median }, index) => [lengths[index + 1]!, median] as const),
  };
  return {
    title: "Read",
    about:
      `Whole histories, and the ${windowSize} newest messages (with the human message of the round that ` +
      "they begin in) of sessions whose start a reduction has moved. The peers cannot window: they read " +
      "and parse all. " +
      "Raw ioredis is LRANGE of the peers' list without any parsing.",
    tables: [
      comparisonTable("Read of the whole history, by its length", cases),
      comparisonTable(`Read of ${windowName} messages, langchain-redis-memory alone`, [windows]),
    ],
    charts: [{ ...chart, lines: [...chart.lines, { ...window, name: `${names.ours}, ${windowName}` }] }],
    targets: [
      ...cases.flatMap(({ name }, index) =>
        lengths[index]! < 100 ? [] : atMost(`whole read of ${name}, against the faster peer`, 1.15, against[index]!),
      ),
      atMost("windowed read at the longest history, against one at 100", 1.3, longest / shortest),
    ],
    headlines: [
      timeHeadline({
        what: `read of ${cases.at(-1)!.name} messages, all of them`,
        ours: read[0]!.median,
        others: peers,
      }),
      timeHeadline({
        what: `read of the ${windowSize} newest of ${cases.at(-1)!.name} messages`,
        inReadme: true,
        ours: longest,
        others: peers,
      }),
    ],
  };
}
