import { Redis } from "ioredis";

/** What servers did for some work; all figures are sums over the servers. */
export interface ServerCost {
  /** Processor time of the main threads, in microseconds. */
  readonly cpu: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly commands: number;
}

/** A server's own counters, read by connections of its own. */
export class ServerMeter {
  readonly #clients: readonly Redis[];

  constructor(ports: readonly number[]) {
    this.#clients = ports.map((port) => new Redis({ port, host: "127.0.0.1" }));
  }

  /** What the work cost each server, without what reading the counters costs. */
  async costsOf(work: () => Promise<unknown>): Promise<ServerCost[]> {
    // The second reading tells what a reading costs.
    const [first, second] = [await this.#read(), await this.#read()];
    await work();
    const last = await this.#read();
    return last.map((after, index) => {
      const [before, earlier] = [second[index]!, first[index]!];
      const spent = (of: (cost: ServerCost) => number) => of(after) - of(before) - (of(before) - of(earlier));
      return {
        cpu: Math.max(
          0,
          spent(({ cpu }) => cpu),
        ),
        bytesIn: spent(({ bytesIn }) => bytesIn),
        bytesOut: spent(({ bytesOut }) => bytesOut),
        commands: spent(({ commands }) => commands),
      };
    });
  }

  /** Bytes that each server's data takes with its keys; without buffers of connections, scripts and replication. */
  memory(): Promise<number[]> {
    const others = ["mem_clients_normal", "mem_clients_slaves", "mem_cluster_links", "used_memory_scripts_eval"];
    return Promise.all(
      this.#clients.map(async (client) => {
        const info = await client.info("memory");
        const besides = [...others, "mem_total_replication_buffers"].map((name) => figureOf(info, name));
        return figureOf(info, "used_memory") - besides.reduce((sum, bytes) => sum + bytes, 0);
      }),
    );
  }

  /** Removes all data, at once and not in the background. */
  async clear(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.flushall("SYNC")));
  }

  async configure(name: string, value: string): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.config("SET", name, value)));
  }

  close(): void {
    this.#clients.forEach((client) => client.disconnect());
  }

  #read(): Promise<ServerCost[]> {
    return Promise.all(
      this.#clients.map(async (client) => {
        const info = await client.info();
        const seconds = figureOf(info, "used_cpu_user_main_thread") + figureOf(info, "used_cpu_sys_main_thread");
        return {
          cpu: seconds * 1e6,
          bytesIn: figureOf(info, "total_net_input_bytes"),
          bytesOut: figureOf(info, "total_net_output_bytes"),
          commands: figureOf(info, "total_commands_processed"),
        };
      }),
    );
  }
}

/** The sum of several costs. */
export function sumOf(costs: readonly ServerCost[]): ServerCost {
  return costs.reduce((sum, { cpu, bytesIn, bytesOut, commands }) => ({
    cpu: sum.cpu + cpu,
    bytesIn: sum.bytesIn + bytesIn,
    bytesOut: sum.bytesOut + bytesOut,
    commands: sum.commands + commands,
  }));
}

function figureOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1] ?? 0);
}
