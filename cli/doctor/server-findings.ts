import type { ServerFacts } from "./server-facts.js";

const oldestRedis = [6, 2] as const;
const hour = 3_600_000;

/** Findings about one server. `now` is the time in milliseconds since 1970. */
export function serverFindings(facts: ServerFacts, now: number): Finding[] {
  const { info } = facts;
  if (info === undefined) {
    const advice = "Let this user run INFO, or run doctor as another user.";
    return [
      finding("note", "server", "This user may not run INFO; most checks were left out.", advice),
      latency(facts),
    ];
  }
  return [
    version(info),
    eviction(facts, info),
    ...memory(info),
    ...persistence(info),
    replicas(facts, info),
    ...cluster(facts),
    latency(facts),
    slow(facts, now),
  ];
}

type Info = Readonly<Record<string, string>>;

function version(info: Info): Finding {
  const valkey = info["valkey_version"];
  const text = valkey ?? info["redis_version"] ?? "unknown";
  const name = valkey === undefined ? "Redis" : "Valkey";
  const [major = 0, minor = 0] = text.split(".").map(Number);
  const isOld =
    valkey === undefined && (major < oldestRedis[0] || (major === oldestRedis[0] && minor < oldestRedis[1]));
  return isOld
    ? finding("problem", "version", `${name} ${text}`, "Upgrade: the package needs Redis 6.2 or later.")
    : finding("ok", "version", `${name} ${text}`);
}

function eviction({ config }: ServerFacts, info: Info): Finding {
  const policy = info["maxmemory_policy"] ?? config?.["maxmemory-policy"] ?? "unknown";
  return policy === "noeviction"
    ? finding("ok", "eviction", "noeviction")
    : finding(
        "problem",
        "eviction",
        `maxmemory-policy is ${policy}: a full server removes keys, and with them parts of sessions.`,
        "Set maxmemory-policy to noeviction; let sessions expire by sessionTTL.",
      );
}

function memory(info: Info): Finding[] {
  const [used, limit, system] = ["used_memory", "maxmemory", "total_system_memory"].map((name) => Number(info[name]));
  if (limit! > 0) {
    const share = used! / limit!;
    const found = `${megabytes(used!)} of ${megabytes(limit!)} (${Math.round(100 * share)} %)`;
    const advice = "Writes will be refused when it is full: add memory or shards, or set a shorter sessionTTL.";
    return [share > 0.8 ? finding("warning", "memory", found, advice) : finding("ok", "memory", found)];
  }
  const ofMachine = system! > 0 ? ` (${megabytes(system!)} in the machine)` : "";
  const found = `${megabytes(used!)} used, maxmemory is not set${ofMachine}`;
  const advice = "Set maxmemory: without it the operating system ends the server when the machine is full.";
  return [finding("warning", "memory", found, advice)];
}

function persistence(info: Info): Finding[] {
  const failed = ["rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"].filter((name) => {
    return info[name] !== undefined && info[name] !== "ok";
  });
  const failures = failed.map((name) =>
    finding("problem", "persistence", `${name} is ${info[name]}`, "Look at the server's log; its disk may be full."),
  );
  if (info["aof_enabled"] === "1") {
    return [...failures, finding("ok", "persistence", "append-only file is on")];
  }
  const advice = "Set appendonly yes: a snapshot alone loses what was written since.";
  return [...failures, finding("warning", "persistence", "append-only file is off", advice)];
}

function replicas({ config }: ServerFacts, info: Info): Finding {
  if (info["role"] !== "master") {
    const advice = "Connect to the master; writes to a replica are refused.";
    return finding("warning", "replicas", "This server is a replica.", advice);
  }
  const count = Number(info["connected_slaves"] ?? 0);
  const required = Number(config?.["min-replicas-to-write"] ?? 0);
  if (count === 0) {
    const advice = "Add a replica, unless losing this server may lose its sessions.";
    return finding("warning", "replicas", "no replica is connected", advice);
  }
  const found = `${count} connected, min-replicas-to-write ${config === undefined ? "not known" : required}`;
  const advice =
    "Set min-replicas-to-write 1, and waitReplicas in the application where no acknowledged message may be lost: " +
    "a master that is cut off otherwise goes on acknowledging.";
  return required > 0 || config === undefined
    ? finding("ok", "replicas", found)
    : finding("warning", "replicas", found, advice);
}

function cluster({ cluster: fields }: ServerFacts): Finding[] {
  if (fields === undefined) {
    return [];
  }
  const { cluster_state: state = "unknown", cluster_slots_assigned: slots = "0", cluster_known_nodes: nodes } = fields;
  const found = `state ${state}, ${slots} of 16384 slots assigned, ${nodes} nodes`;
  const isGood = state === "ok" && slots === "16384";
  const advice = "Look at CLUSTER NODES: sessions in slots without a master can be neither read nor written.";
  return [isGood ? finding("ok", "cluster", found) : finding("problem", "cluster", found, advice)];
}

function latency({ roundTripMs }: ServerFacts): Finding {
  const found = `${roundTripMs.toFixed(2)} ms a round trip`;
  const advice = "Run the application nearer to the server: each turn waits for two round trips.";
  return roundTripMs > 10 ? finding("warning", "latency", found, advice) : finding("ok", "latency", found);
}

function slow({ slowScripts }: ServerFacts, now: number): Finding {
  if (slowScripts === undefined) {
    return finding("note", "slow log", "This user may not read the slow log.", "Let this user run SLOWLOG GET.");
  }
  const recent = slowScripts.filter(({ at }) => now - at < 24 * hour);
  const worst = recent.reduce((most, { milliseconds }) => Math.max(most, milliseconds), 0);
  if (recent.length === 0) {
    return finding("ok", "slow log", "no slow script of this package in the last day");
  }
  const found = `${recent.length} slow scripts in the last day, the slowest ${worst.toFixed(1)} ms`;
  const advice = "Look at SLOWLOG GET: very large messages, or a server that has too little CPU.";
  return finding("warning", "slow log", found, advice);
}

function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(0)} MB`;
}

/** Something that was looked at. `ok` and `note` need nothing; the command's exit code says the worst of the others. */
export interface Finding {
  readonly level: "ok" | "note" | "warning" | "problem";
  /** The subject, such as `eviction`. */
  readonly check: string;
  readonly found: string;
  /** The advice; empty where there is nothing to do. */
  readonly advice: string;
}

/** Creates a finding. */
export function finding(level: Finding["level"], check: string, found: string, advice = ""): Finding {
  return { level, check, found, advice };
}
