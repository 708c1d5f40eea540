import { randomUUID } from "node:crypto";
import { ServerMeter } from "../measure/server-cost.js";
import { quantile } from "../measure/statistics.js";
import { atMost, digits, whole } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Headline, Section, Setting, Table, Target } from "../report/section.js";
import { names, openContenders, openVariants, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

const length = 20;
/** Each contender works so long before it is measured. */
const warmUpMs = 10_000;

/** Microseconds of processor time for one call, one figure a block. */
interface Used {
  /** The server's, for a turn in a session that this process has read before, and in one that it has not. */
  readonly turn: number[];
  readonly firstTurn: number[];
  /** The client's. */
  readonly read: number[];
  readonly firstRead: number[];
  readonly append: number[];
  readonly appendOne: number[];
  readonly turnOfClient: number[];
}

/** Processor time of the server for a turn, and of the client for reads and appends: the cost of many instances. */
export async function processorTimeSuite({ server, quick }: Setting): Promise<Section> {
  const contenders = openContenders(server.url);
  const meter = new ServerMeter([server.port]);
  const peers = await measureTogether(contenders, meter, quick);
  // Behind the peers: what each of them runs would be compiled for all that the variants do besides.
  const variants = openVariants(server.url);
  const others = await measureTogether([contenders[0]!, ...variants], meter, quick);
  meter.close();
  await Promise.all([...contenders, ...variants].map((contender) => contender.close()));
  const all = [...contenders, ...variants].map(({ name }) => name);
  const parts = [8, 1].map((lanes, at) => partOf(peers[at]!, { lanes, contenders: all, others: others[at]! }));
  return {
    title: "Processor time",
    about:
      "A turn is a read of 20 messages and an append of 2 with a time to live, eight at once and one at a time, in " +
      "processes that did the same for ten seconds before. " +
      "The server's time is that of its main thread (INFO), the client's that of the process; medians of alternating " +
      "blocks, with the tenth and the ninetieth percentile. Unlike a clock, they do not depend on other work on the " +
      "machine. What one core carries is a second over the server's time: with the clients on other cores, as in " +
      "production. A first read is the first of a session in this process; later ones fetch only what is new. The " +
      "peers keep no ids, so they cannot tell a repetition. With a turnId, an owner and a reducer is what a product " +
      "with several instances uses.",
    tables: parts.flatMap(({ tables }) => tables),
    targets: parts.flatMap(({ targets }) => targets),
    headlines: parts[0]!.headlines.map((headline, at) => both(headline, parts[1]!.headlines[at]!)),
  };
}

/** Measures contenders in turn, warm: eight calls at once, then one. */
async function measureTogether(
  contenders: readonly Contender[],
  meter: ServerMeter,
  quick: boolean,
): Promise<Used[][]> {
  for (const contender of contenders) {
    // One read opens the connection: @langchain/redis cannot begin with several.
    await contender.history("first").getMessages();
    const until = performance.now() + (quick ? 0 : warmUpMs);
    do {
      await measureBlock(contender, meter, { lanes: 8, quick, used: undefined });
    } while (performance.now() < until);
  }
  const found: Used[][] = [];
  for (const lanes of [8, 1]) {
    const used = contenders.map((): Used => ({
      ...{ turn: [], firstTurn: [], turnOfClient: [] },
      ...{ read: [], firstRead: [], append: [], appendOne: [] },
    }));
    for (let block = -1; block < (quick ? 2 : 15); block += 1) {
      for (const [index, contender] of contenders.entries()) {
        await measureBlock(contender, meter, { lanes, quick, used: block < 0 ? undefined : used[index]! });
      }
    }
    found.push(used);
  }
  return found;
}

/** What was found with so many calls at once. */
interface Part {
  readonly tables: Table[];
  readonly targets: Target[];
  readonly headlines: Headline[];
}

/** One line of eight at once and one at a time. */
function both(eight: Headline, one: Headline): Headline {
  return {
    ...eight,
    what: `${eight.what}, eight at once; one at a time`,
    ours: `${eight.ours}; ${one.ours}`,
    others: `${eight.others}; ${one.others}`,
    difference: `${eight.difference}; ${one.difference}`,
  };
}

async function measureBlock(
  contender: Contender,
  meter: ServerMeter,
  { lanes, quick, used }: { readonly lanes: number; readonly quick: boolean; readonly used: Used | undefined },
): Promise<void> {
  const [sessions, reads] = quick ? [16, 100] : [200, 1_200];
  const turn = async (id: string) => {
    const history = contender.history(id);
    await history.getMessages();
    await history.addMessages(conversation(2));
  };
  const read = (id: string) => contender.history(id).getMessages();
  const append = (id: string) => contender.history(id).addMessages(conversation(2));
  const appendOne = (id: string) => contender.history(id).addMessages(conversation(1));
  const client = async (ids: readonly string[], work: (id: string) => Promise<unknown>) => {
    const before = process.cpuUsage();
    await inLanes(ids, work, lanes);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / ids.length;
  };
  const onServer = async (ids: readonly string[]) =>
    (await meter.costsOf(() => inLanes(ids, turn, lanes)))[0]!.cpu / ids.length;

  const ids = await filled(contender, sessions);
  const firstRead = await client(ids, read);
  const again = Array.from({ length: reads }, (_, at) => ids[at % sessions]!);
  const figures = { firstRead, read: await client(again, read), turn: await onServer(ids) };
  const others = await filled(contender, sessions);
  const firstTurn = await onServer(others);
  const appends = { append: await client(others, append), appendOne: await client(others, appendOne) };
  const turnOfClient = await client(await filled(contender, sessions), turn);
  const costs: Record<keyof Used, number> = { ...figures, firstTurn, ...appends, turnOfClient };
  await meter.clear();
  if (used !== undefined) {
    Object.entries(costs).forEach(([name, cost]) => used[name as keyof Used].push(cost));
  }
}

/** Sessions of 20 messages. */
async function filled(contender: Contender, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await inLanes(ids, (id) => contender.fill(id, conversation(length)), 8);
  return ids;
}

/** Does the work for all sessions, so many at once. */
async function inLanes(ids: readonly string[], work: (id: string) => Promise<unknown>, lanes: number): Promise<void> {
  const rest = [...ids];
  const lane = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
      await work(id);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

const rowNames: Readonly<Record<keyof Used, string>> = {
  turn: "the server, a turn",
  firstTurn: "the server, a turn in a session that this process has not read",
  read: `the client, a read of ${length}`,
  firstRead: `the client, the first read of ${length}`,
  append: "the client, an append of 2",
  appendOne: "the client, an append of 1",
  turnOfClient: "the client, a turn",
};

/** `others` are this package again, and its variants. */
function partOf(
  used: readonly Used[],
  {
    lanes,
    contenders,
    others,
  }: { readonly lanes: number; readonly contenders: readonly string[]; readonly others: readonly Used[] },
): Part {
  const way = lanes === 1 ? "one at a time" : `${["", "", "", "", "", "", "", "", "eight"][lanes]} at once`;
  const kinds = Object.keys(rowNames) as (keyof Used)[];
  const middlesOf = (all: readonly Used[]) => (kind: keyof Used) => all.map((each) => quantile(each[kind], 0.5));
  const [middles, middlesOfOthers] = [middlesOf(used), middlesOf(others)];
  const cell = (values: readonly number[]) =>
    `${digits(quantile(values, 0.5))} µs (${digits(quantile(values, 0.1))}–${digits(quantile(values, 0.9))})`;
  const cells = (all: readonly Used[], kind: keyof Used) => all.map((each) => cell(each[kind]));
  const times = (ratio: number) => `${digits(ratio)} ×`;
  const data: Table = {
    title: `Processor time, ${way}`,
    head: ["", ...contenders.slice(0, 3), `against ${names.redis}`, `against ${names.community}`],
    rows: [
      ...kinds.map((kind) => [
        rowNames[kind],
        ...cells(used, kind),
        ...middles(kind)
          .slice(1)
          .map((peer) => times(middles(kind)[0]! / peer)),
      ]),
      ["turns a second that one core of Redis carries", ...middles("turn").map((cpu) => whole(1e6 / cpu)), "–", "–"],
    ],
  };
  const alone: Table = {
    title: `With what a product has, ${way}`,
    head: ["", names.ours, ...contenders.slice(3), ...contenders.slice(3).map((name) => `${name}, against without`)],
    rows: kinds.map((kind) => [
      rowNames[kind],
      ...cells(others, kind),
      ...middlesOfOthers(kind)
        .slice(1)
        .map((variant) => times(variant / middlesOfOthers(kind)[0]!)),
    ]),
  };
  const headline = (kind: keyof Used, what: string) => {
    const [ours, ...peers] = middles(kind).map((microseconds) => microseconds / 1000);
    return timeHeadline({ what, inReadme: true, ours: ours!, others: peers });
  };
  return {
    tables: [data, alone],
    targets: targetsOf({ way, lanes, contenders, middles, middlesOfOthers, kinds }),
    headlines: [
      headline("turn", "processor time of the server for a turn"),
      headline("read", `processor time of the client for a read of ${length}`),
    ],
  };
}

function targetsOf({
  way,
  lanes,
  contenders,
  middles,
  middlesOfOthers,
  kinds,
}: {
  readonly way: string;
  readonly lanes: number;
  readonly contenders: readonly string[];
  readonly middles: (kind: keyof Used) => readonly number[];
  readonly middlesOfOthers: (kind: keyof Used) => readonly number[];
  readonly kinds: readonly (keyof Used)[];
}): Target[] {
  const fasterPeer = (kind: keyof Used) => {
    const [ours, redis, community] = middles(kind);
    return ours! / Math.min(redis!, community!);
  };
  const against = (kind: keyof Used, peer: number) => middles(kind)[0]! / middles(kind)[peer]!;
  const ofTurn =
    lanes === 1
      ? [atMost(`the server, a turn, ${way}, against both peers`, 0.9, fasterPeer("turn"))]
      : [
          atMost(`the server, a turn, ${way}, against @langchain/community`, 0.8, against("turn", 2)),
          atMost(`the client, a turn, ${way}, against the faster peer`, 1.05, fasterPeer("turnOfClient")),
          atMost(`the client, a turn, ${way}, against @langchain/community`, 0.75, against("turnOfClient", 2)),
        ];
  const limits =
    lanes === 1
      ? { read: 1.1, firstRead: 1.6, append: 1.2, appendOne: 1.4 }
      : { read: 0.6, firstRead: 1.8, append: 1, appendOne: 1.4 };
  const besides = contenders.slice(3).map((name, at) => {
    const worst = Math.max(...kinds.map((kind) => middlesOfOthers(kind)[1 + at]! / middlesOfOthers(kind)[0]!));
    return atMost(`the dearest of these, ${way}, ${name}, against without`, 1.25, worst);
  });
  return [
    ...ofTurn,
    ...(Object.keys(limits) as (keyof typeof limits)[]).map((kind) =>
      atMost(`${rowNames[kind]}, ${way}, against the faster peer`, limits[kind], fasterPeer(kind)),
    ),
    ...besides,
  ];
}
