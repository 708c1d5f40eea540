import { randomUUID } from "node:crypto";
import { ServerMeter } from "../measure/server-cost.js";
import { quantile } from "../measure/statistics.js";
import { atMost, digits, whole } from "../report/format.js";
import type { Section, Setting } from "../report/section.js";
import { names, openContenders, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

const length = 20;
const atOnce = 8;

/** Microseconds of processor time, one figure a block. */
interface Used {
  readonly server: number[];
  readonly client: number[];
}

/** Processor time of the server for a turn, and of the client for a read: what many instances have to pay for. */
export async function processorTimeSuite({ server, quick }: Setting): Promise<Section> {
  const contenders = openContenders(server.url);
  for (const contender of contenders) {
    // One read opens the connection: @langchain/redis cannot begin with several.
    await contender.history("first").getMessages();
  }
  const meter = new ServerMeter([server.port]);
  const [blocks, sessions, reads] = quick ? [2, 16, 100] : [25, 200, 1_200];
  const used = contenders.map((): Used => ({ server: [], client: [] }));
  for (let block = -1; block < blocks; block += 1) {
    for (const [index, contender] of contenders.entries()) {
      const ids = await filled(contender, sessions);
      const cost = await meter.costsOf(() => inTurn(ids, (id) => turn(contender, id)));
      const before = process.cpuUsage();
      await inTurn(
        Array.from({ length: reads }, (_, at) => ids[at % sessions]!),
        (id) => read(contender, id),
      );
      const { user, system } = process.cpuUsage(before);
      await meter.clear();
      if (block >= 0) {
        used[index]!.server.push(cost[0]!.cpu / sessions);
        used[index]!.client.push((user + system) / reads);
      }
    }
  }
  meter.close();
  await Promise.all(contenders.map((contender) => contender.close()));
  return section(used);
}

/** Sessions of 20 messages. */
async function filled(contender: Contender, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await inTurn(ids, (id) => contender.fill(id, conversation(length)));
  return ids;
}

/** Does the work for all sessions, eight at once. */
async function inTurn(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<void> {
  const rest = [...ids];
  const lane = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
      await work(id);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

async function turn(contender: Contender, id: string): Promise<void> {
  const history = contender.history(id);
  await history.getMessages();
  await history.addMessages(conversation(2));
}

function read(contender: Contender, id: string): Promise<unknown> {
  return contender.history(id).getMessages();
}

function section(used: readonly Used[]): Section {
  const contenders = [names.ours, names.redis, names.community];
  const middle = (values: readonly number[]) => quantile(values, 0.5);
  const server = used.map((each) => middle(each.server));
  const client = used.map((each) => middle(each.client));
  const cells = (values: readonly number[][]) =>
    values.map((each) => `${digits(middle(each))} µs (${digits(quantile(each, 0.1))}–${digits(quantile(each, 0.9))})`);
  const ratio = ([ours, redis, community]: readonly number[]) => [
    `${digits(ours! / redis!)} ×`,
    `${digits(ours! / community!)} ×`,
  ];
  const turnRow = ["the server, a turn", ...cells(used.map((each) => each.server)), ...ratio(server)];
  const readRow = ["the client, a read of 20", ...cells(used.map((each) => each.client)), ...ratio(client)];
  const rates = ["turns a second that one core of Redis carries", ...server.map((cpu) => whole(1e6 / cpu)), "–", "–"];
  return {
    title: "Processor time",
    about:
      "A turn is a read of 20 messages and an append of 2 with a time to live, eight turns at once. " +
      "The server's time is that of its main thread (INFO), the client's that of the process; medians of alternating " +
      "blocks, with the tenth and the ninetieth percentile. Unlike a clock, they do not depend on other work on the " +
      "machine. What one core carries is a second over the server's time: with the clients on other cores, as in " +
      "production. The peers keep no ids, so they cannot tell a repetition.",
    tables: [
      {
        title: "Processor time, and turns a second of one core",
        head: ["", ...contenders, `against ${names.redis}`, `against ${names.community}`],
        rows: [turnRow, rates, readRow],
      },
    ],
    targets: [
      atMost("processor time of the server for a turn, against @langchain/community", 1.2, server[0]! / server[2]!),
      atMost(
        "processor time of the client for a read of 20, against the faster peer",
        1.2,
        client[0]! / Math.min(client[1]!, client[2]!),
      ),
    ],
  };
}
