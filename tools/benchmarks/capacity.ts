// What sessions take in Redis, measured on one node; a model made of that; and how well the model foretells a cluster
// of three masters. Writes the figures of docs/development/capacity.md. Run it with `npm run capacity`; --sessions is
// how many fill the cluster, and --quick shows in seconds that everything works, and writes nothing that lasts.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { ChatHistoryTruncationReducer, RedisChatMemory, type RedisChatMemoryOptions } from "langchain-redis-memory";
import { startCluster } from "../testkit/servers/redis-cluster.js";
import { startRedis } from "../testkit/servers/redis-server.js";
import { fitMemory, lineThrough, type MeasuredSession, type TurnModel } from "./measure/capacity-model.js";
import { predict, type ClusterCheck } from "./measure/capacity-check.js";
import { quantile } from "./measure/statistics.js";
import { ServerMeter, sumOf, type ServerCost } from "./measure/server-cost.js";
import { capacityText, type Variant } from "./report/capacity-text.js";
import { writeCapacity } from "./report/write.js";
import { fill, mixedShapes, recordBytesOf, turnEach, type Shape } from "./setting/capacity-work.js";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, sessions: { type: "string", default: "10000" } },
});
const { quick } = values;
const sessionTTL = 7 * 24 * 3600;
/** What the variants are measured with. */
const usual: Shape = { messages: 20, characters: 400 };
const messagesPerShape = quick ? 400 : 60_000;
const turnsMeasured = quick ? 40 : 12_000;

/** One node of its own, with all that is measured on it. */
class Node {
  private constructor(
    readonly client: Redis,
    readonly meter: ServerMeter,
    readonly stop: () => Promise<void>,
  ) {}

  /** Cluster nodes take some bytes more for each key than others, so one is asked too where it is alone. */
  static async start(): Promise<Node> {
    const cluster = await startCluster(1);
    const { port, host } = cluster.nodes[0]!;
    return new Node(new Redis({ port, host }), new ServerMeter([port]), cluster.stop);
  }

  memory(options: Partial<RedisChatMemoryOptions> = {}): RedisChatMemory {
    return new RedisChatMemory({ client: this.client, sessionTTL, ...options } as RedisChatMemoryOptions);
  }

  /** Bytes that a session of this shape takes, and the ids of the sessions that are there now. */
  async sessionOf(shape: Shape, memory = this.memory()): Promise<MeasuredSession & { readonly ids: string[] }> {
    await this.meter.clear();
    const [empty] = await this.meter.memory();
    const shapes = Array.from({ length: Math.max(20, Math.ceil(messagesPerShape / shape.messages)) }, () => shape);
    const ids = await fill(memory, shapes);
    const [full] = await this.meter.memory();
    const recordBytes = await recordBytesOf(this.client, ids[0]!);
    return { messages: shape.messages, recordBytes, bytes: (full! - empty!) / shapes.length, ids };
  }

  /** What one turn costs, of sessions that are there; the first turns fill caches and do not count. */
  async turnOf(ids: readonly string[], memory = this.memory()): Promise<ServerCost> {
    await turnEach(memory, ids.slice(0, 8), usual);
    const [cost] = await this.meter.costsOf(() => turnEach(memory, ids, usual));
    return perTurn(cost!, ids.length);
  }

  async close(): Promise<void> {
    this.meter.close();
    this.client.disconnect();
    await this.stop();
  }
}

async function calibrate(node: Node) {
  const measured: MeasuredSession[] = [];
  for (const messages of quick ? [4, 40] : [4, 10, 20, 50, 150]) {
    for (const characters of [100, 400, 1_000]) {
      measured.push(await node.sessionOf({ messages, characters }));
    }
  }
  return { measured, memory: fitMemory(measured) };
}

/** Costs of a turn at two lengths of the view. */
async function turnModel(node: Node): Promise<TurnModel> {
  const lengths = [10, 50] as const;
  const costs: ServerCost[] = [];
  for (const messages of lengths) {
    const { ids } = await node.sessionOf({ ...usual, messages });
    costs.push(await node.turnOf(ids.slice(0, turnsMeasured)));
  }
  const line = (of: (cost: ServerCost) => number) =>
    lineThrough([lengths[0], of(costs[0]!)], [lengths[1], of(costs[1]!)]);
  return {
    cpu: line(({ cpu }) => cpu),
    bytesIn: line((cost) => cost.bytesIn),
    bytesOut: line((cost) => cost.bytesOut),
  };
}

/** The same sessions under another option or setting. */
interface Change {
  readonly name: string;
  readonly memory: RedisChatMemory;
  readonly messages?: number;
  readonly setting?: { readonly name: string; readonly value: string; readonly usually: string };
}

function changes(node: Node): Change[] {
  const encryption = { current: { id: "1", key: randomBytes(32) } };
  const reducer = new ChatHistoryTruncationReducer({ targetCount: usual.messages, thresholdCount: 10 });
  const settings = [
    { name: "hash-max-listpack-value", value: "256", usually: "64" },
    { name: "list-max-listpack-size", value: "-1", usually: "-2" },
    { name: "list-max-listpack-size", value: "-4", usually: "-2" },
  ];
  return [
    { name: "as it is", memory: node.memory() },
    { name: "no `sessionTTL`", memory: new RedisChatMemory({ client: node.client }) },
    { name: "`encryption`", memory: node.memory({ encryption }) },
    { name: '100 messages, `retention: "keep"`', memory: node.memory({ reducer }), messages: 100 },
    {
      name: '100 messages, `retention: "discard"`',
      memory: node.memory({ reducer, retention: "discard" }),
      messages: 100,
    },
    ...settings.map((setting) => ({
      name: `\`${setting.name} ${setting.value}\` (usually ${setting.usually})`,
      memory: node.memory(),
      setting,
    })),
  ];
}

/** Memory one after the other; turns of all in several rounds, so that none has a better moment. */
async function variants(node: Node): Promise<Variant[]> {
  const all = changes(node);
  const bytes: number[] = [];
  for (const change of all) {
    const shape = { ...usual, messages: change.messages ?? usual.messages };
    await under(node, change, async () => bytes.push((await node.sessionOf(shape, change.memory)).bytes));
  }
  await node.meter.clear();
  const costs = all.map((): ServerCost[] => []);
  for (let round = 0; round < (quick ? 1 : 7); round += 1) {
    for (const [index, change] of all.entries()) {
      const shape = { ...usual, messages: change.messages ?? usual.messages };
      await under(node, change, async () => {
        const ids = await fill(
          change.memory,
          Array.from({ length: turnsMeasured / 10 }, () => shape),
        );
        costs[index]!.push(await node.turnOf(ids, change.memory));
      });
    }
  }
  return all.map(({ name }, index) => ({ name, bytes: bytes[index]!, turn: medianOf(costs[index]!) }));
}

async function under(node: Node, { setting }: Change, work: () => Promise<unknown>): Promise<void> {
  await (setting && node.meter.configure(setting.name, setting.value));
  await work();
  await (setting && node.meter.configure(setting.name, setting.usually));
}

/** What a master does more for a turn where a replica follows. */
async function replicated(): Promise<{ readonly without: ServerCost; readonly with: ServerCost }> {
  const master = await startRedis();
  const client = new Redis(master.url);
  const meter = new ServerMeter([master.port]);
  const memory = new RedisChatMemory({ client, sessionTTL });
  const ids = await fill(
    memory,
    Array.from({ length: turnsMeasured / 10 }, () => usual),
  );
  const [without, followed]: ServerCost[][] = [[], []];
  for (let round = 0; round < (quick ? 1 : 7); round += 1) {
    without!.push(await turns(meter, memory, ids));
    const replica = await startRedis(["--replicaof", "127.0.0.1", String(master.port)]);
    while (!(await client.info("replication")).includes("state=online")) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    followed!.push(await turns(meter, memory, ids));
    await replica.stop();
  }
  meter.close();
  client.disconnect();
  await master.stop();
  return { without: medianOf(without!), with: medianOf(followed!) };
}

async function turns(meter: ServerMeter, memory: RedisChatMemory, ids: readonly string[]): Promise<ServerCost> {
  const [cost] = await meter.costsOf(() => turnEach(memory, ids, usual));
  return perTurn(cost!, ids.length);
}

function perTurn({ cpu, bytesIn, bytesOut, commands }: ServerCost, count: number): ServerCost {
  return { cpu: cpu / count, bytesIn: bytesIn / count, bytesOut: bytesOut / count, commands: commands / count };
}

function medianOf(costs: readonly ServerCost[]): ServerCost {
  const of = (figure: (cost: ServerCost) => number) => quantile(costs.map(figure), 0.5);
  return {
    ...{ cpu: of(({ cpu }) => cpu), bytesIn: of(({ bytesIn }) => bytesIn) },
    ...{ bytesOut: of(({ bytesOut }) => bytesOut), commands: of(({ commands }) => commands) },
  };
}

/** Fills a cluster of three masters with sessions of all kinds, and compares it with what the models say. */
async function checkCluster(models: Parameters<typeof predict>[0]): Promise<ClusterCheck> {
  const cluster = await startCluster(3);
  const client = new Redis.Cluster([...cluster.nodes]);
  const meter = new ServerMeter(cluster.nodes.map(({ port }) => port));
  const memory = new RedisChatMemory({ client, sessionTTL });
  const shapes = mixedShapes(quick ? 60 : Number(values.sessions));
  const empty = await meter.memory();
  const ids = await fill(memory, shapes);
  const full = await meter.memory();
  const records = await Promise.all(
    [100, 400, 1_000].map(async (characters) => {
      const index = shapes.findIndex((shape) => shape.characters === characters);
      return [characters, await recordBytesOf(client, ids[index]!)] as const;
    }),
  );
  const chosen = ids.slice(0, turnsMeasured);
  const costs = await meter.costsOf(() => turnEach(memory, chosen, { ...usual, servers: 3 }));
  const bytes = full.map((after, index) => after - empty[index]!);
  await memory.close();
  meter.close();
  client.disconnect();
  await cluster.stop();
  const predicted = predict(models, { shapes, recordBytes: new Map(records), turns: shapes.slice(0, chosen.length) });
  return { sessions: shapes.length, turns: chosen.length, bytes, cost: sumOf(costs), predicted };
}

const node = await Node.start();
const { measured, memory } = await calibrate(node);
const turn = await turnModel(node);
const found = await variants(node);
const replica = await replicated();
await node.close();
const check = await checkCluster({ memory, turn });
const record = measured.find(({ messages, recordBytes }) => messages > 4 && recordBytes > 500)!.recordBytes;
const text = capacityText({ measured, memory, turn, variants: found, replica, check, record, usual });
console.log(text);
console.log(quick ? "Written nowhere." : `Written to ${writeCapacity(text)}.`);
