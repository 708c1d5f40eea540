import { BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { RedisSaver as ModulesSaver } from "@langchain/langgraph-checkpoint-redis";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Redis } from "ioredis";
import { RedisSaver } from "langchain-redis-memory/checkpoint";

/** A checkpointer, and what it stored and asked for so far. */
export interface SaverContender {
  readonly name: string;
  readonly saver: BaseCheckpointSaver;
  /** True if a server stores it, false for memory and for stand-ins that count. */
  readonly hasServer: boolean;
  /** Bytes that are stored. */
  bytes(): Promise<number>;
  /** Commands or statements that were sent; undefined where none are. */
  commands(): number | undefined;
  close(): Promise<void>;
}

/** What the checkpointers of a comparison are called. */
export const saverNames = {
  ours: "RedisSaver",
  kept: "RedisSaver, keep: 20",
  memory: "MemorySaver",
  sqlite: "checkpoint-sqlite",
  postgres: "checkpoint-postgres",
  modules: "checkpoint-redis",
} as const;

const sizeOf = (value: unknown): number => {
  if (value === undefined || value === null) {
    return 0;
  }
  return value instanceof Uint8Array
    ? value.length
    : Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
};
const sumOf = (values: readonly unknown[]): number => values.reduce<number>((sum, value) => sum + sizeOf(value), 0);

/** Ours, on a server: its memory, and the round trips of the saver. */
export function openRedisSaver(url: string, threadId: string, keep?: number): SaverContender {
  const client = new Redis(url);
  let trips = 0;
  const onEvent = ({ type }: { readonly type: string }) => void (trips += type === "command" ? 1 : 0);
  const keyPrefix = keep === undefined ? "all" : "kept";
  const saver = new RedisSaver({ client, keyPrefix, onEvent, ...(keep !== undefined && { keep }) });
  return {
    name: keep === undefined ? saverNames.ours : saverNames.kept,
    saver,
    hasServer: true,
    bytes: async () => {
      const keys = ["items", "checkpoints", "order"].map((part) => `${keyPrefix}:{${threadId}}:${part}`);
      const sizes = await Promise.all(keys.map((key) => client.call("MEMORY", "USAGE", key, "SAMPLES", "0")));
      return sizes.reduce<number>((sum, size) => sum + Number(size ?? 0), 0);
    },
    commands: () => trips,
    close: async () => client.disconnect(),
  };
}

/** LangGraph's own, in memory: the bytes of its serialized values. */
export function openMemorySaver(): SaverContender {
  const saver = new MemorySaver();
  const dump = saver.serde.dumpsTyped.bind(saver.serde);
  let bytes = 0;
  saver.serde.dumpsTyped = async (value) => {
    const dumped = await dump(value);
    bytes += dumped[1].length;
    return dumped;
  };
  return contender(saverNames.memory, saver, { bytes: () => bytes });
}

/** On a database that counts: statements, and the bytes of what it is given to store. */
export function openSqliteSaver(): SaverContender {
  let [bytes, statements] = [0, 0];
  const statement = {
    run: (...row: unknown[]) => void ((bytes += sumOf(row)), (statements += 1)),
    all: () => ((statements += 1), []),
    get: () => ((statements += 1), undefined),
  };
  const database = {
    pragma: () => undefined,
    exec: () => undefined,
    prepare: () => statement,
    transaction: (work: unknown) => work,
  };
  const saver = new SqliteSaver(database as never);
  return contender(saverNames.sqlite, saver, { bytes: () => bytes, commands: () => statements });
}

/** On a pool that counts: statements, each a round trip, and the bytes of the rows. */
export function openPostgresSaver(): SaverContender {
  let [bytes, statements] = [0, 0];
  const query = async (text: string, row: readonly unknown[] = []) => {
    statements += 1;
    bytes += /^\s*insert/i.test(text) ? sumOf(row) : 0;
    return { rows: [] };
  };
  const pool = { query, connect: async () => ({ query, release: () => undefined }) };
  const saver = new PostgresSaver(pool as never);
  return contender(saverNames.postgres, saver, { bytes: () => bytes, commands: () => statements });
}

/** On a client that counts: commands, and the bytes of the documents as JSON text. */
export function openModulesSaver(): SaverContender {
  const documents = new Map<string, string>();
  let [bytes, commands] = [0, 0];
  const counted = <T>(result: T): Promise<T> => ((commands += 1), Promise.resolve(result));
  const client = {
    json: {
      set: (key: string, _: string, document: unknown) => {
        const text = JSON.stringify(document);
        bytes += text.length - (documents.get(key)?.length ?? -key.length);
        documents.set(key, text);
        return counted("OK");
      },
      get: (key: string) => counted(JSON.parse(documents.get(key) ?? "null") as unknown),
    },
    ft: { create: () => counted("OK") },
    exists: (key: string) => counted(documents.has(key) ? 1 : 0),
    keys: () => counted([]),
    zAdd: (_: string, members: readonly { readonly value: string }[]) => {
      bytes += sumOf(members.map(({ value }) => value));
      return counted(1);
    },
  };
  const saver = new ModulesSaver(client as never);
  return contender(saverNames.modules, saver, { bytes: () => bytes, commands: () => commands });
}

function contender(
  name: string,
  saver: unknown,
  { bytes, commands }: { readonly bytes: () => number; readonly commands?: () => number },
): SaverContender {
  return {
    name,
    saver: saver as BaseCheckpointSaver,
    hasServer: false,
    bytes: async () => bytes(),
    commands: () => commands?.(),
    close: async () => undefined,
  };
}
