/**
 * The commands that a Redis user needs for everything that the package does, and what each is needed for beyond the
 * plainest use. docs/many-instances.md shows the same list, `doctor` asks for them, and a test runs everything under a
 * user that has these alone.
 *
 * A new command in the store goes here and into the table of docs/many-instances.md; a test says which is missing.
 */
export const leastCommands = {
  always: [
    "eval",
    "evalsha",
    "multi",
    "exec",
    "time",
    "unlink",
    "exists",
    "hget",
    "hmget",
    "hset",
    "hdel",
    "hlen",
    "hkeys",
    "hexists",
    "hstrlen",
    "llen",
    "lrange",
    "lindex",
    "rpush",
    "ltrim",
    // Erasures and `clear`, of the runs of a session.
    "xadd",
    "xrange",
    "xrevrange",
  ],
  /** Sessions that expire, and owners. */
  sessionTTL: ["pttl", "pexpireat", "persist"],
  /** Summaries and `oneTurnAtATime`. */
  leases: ["get", "set"],
  /** `waitReplicas`. */
  waitReplicas: ["wait"],
  /** Owners and lists of sessions; looking through everything also needs `scan`. */
  owners: ["zadd", "zrem", "zcount", "zscore", "zrangebyscore", "zrevrangebyscore", "zrandmember", "scan"],
  /** Forks and rebuilds of sessions; `hscan` for long ones. */
  forks: ["hincrby", "rename", "hscan"],
  /** `rebuild` of some damage, and keys of encryption that are exchanged. */
  encryption: ["hsetnx", "lset"],
  /** The command that ioredis sends by itself when it connects; without it, it prints a warning. */
  connection: ["info"],
  /** The same to a Cluster; `asking` while slots move, `client|setname` for its own connections. */
  cluster: ["cluster|slots", "cluster|info", "readonly", "readwrite", "asking", "client|setname"],
} as const;

/** Commands of `./checkpoint` and `./runs`, beside those above: a user without them lacks that part only. */
export const partCommands = {
  RedisSaver: ["hgetall", "zcard", "zlexcount", "zrevrange", "zrevrangebylex"],
  RedisStore: ["zcard", "zmscore", "zrangebylex", "zrevrange"],
  redisRuns: ["xread", "xtrim", "pexpire"],
} as const;

/** The commands that the package needs without those entries. */
export const allLeastCommands: readonly string[] = Object.values(leastCommands).flat();
