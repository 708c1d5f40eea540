import { connectionOptions, urlOptions } from "../../src/store/redis/connection-options.js";

const translated = (config: Readonly<Record<string, unknown>>) => connectionOptions("RedisSessionStore", config);

describe("connectionOptions", () => {
  it("passes ioredis options through", () => {
    const options = {
      host: "redis.internal",
      port: 6380,
      db: 2,
      password: "p",
      tls: { servername: "x" },
      maxRetriesPerRequest: 2,
    };
    expect(translated(options)).toEqual({ url: undefined, options });
  });

  it("translates node-redis options that have an equivalent", () => {
    const socket = {
      host: "redis.internal",
      port: 6380,
      connectTimeout: 2_000,
      noDelay: true,
      keepAlive: 5_000,
      family: 4,
    };
    const config = {
      url: "redis://elsewhere:6381/3",
      username: "u",
      password: "p",
      database: 2,
      name: "app",
      socket,
      disableOfflineQueue: true,
    };
    expect(translated(config)).toEqual({
      url: "redis://elsewhere:6381/3",
      options: {
        ...{ username: "u", password: "p", db: 2, connectionName: "app", enableOfflineQueue: false },
        ...{ host: "redis.internal", port: 6380, connectTimeout: 2_000, noDelay: true, keepAlive: 5_000, family: 4 },
      },
    });
  });

  it("translates a Unix socket, and TLS with its certificates", () => {
    expect(translated({ socket: { path: "/run/redis.sock" } }).options).toEqual({ path: "/run/redis.sock" });
    const socket = { tls: true, host: "h", ca: "certificate", rejectUnauthorized: false, servername: "s" };
    expect(translated({ socket }).options).toEqual({
      host: "h",
      tls: { ca: "certificate", rejectUnauthorized: false, servername: "s" },
    });
    expect(translated({ socket: { tls: false, host: "h" } }).options).toEqual({ host: "h" });
  });

  it("passes through ioredis options for Sentinels, including the name", () => {
    const options = { sentinels: [{ host: "a", port: 26_379 }], name: "mymaster", password: "p" };
    expect(translated(options)).toEqual({ url: undefined, options });
  });

  it("accepts a Sentinel URL in node-redis options", () => {
    expect(translated({ url: "redis+sentinel://a/mymaster", database: 2 })).toEqual({
      url: undefined,
      options: { sentinels: [{ host: "a", port: 26_379 }], name: "mymaster", db: 2 },
    });
  });

  it("treats an undefined option as omitted", () => {
    expect(translated({ database: undefined, host: "h" })).toEqual({ url: undefined, options: { host: "h" } });
    expect(
      translated({ database: 1, legacyMode: undefined, socket: { reconnectStrategy: undefined } }).options,
    ).toEqual({ db: 1 });
  });

  it.each([
    ["config.socket.reconnectStrategy", { socket: { reconnectStrategy: () => 100 } }],
    ["config.socket.ca", { socket: { ca: "certificate without tls" } }],
    ["config.socket.keepAlive", { socket: { keepAlive: true } }],
    ["config.socket.tls", { socket: { tls: {} } }],
    ["config.socket", { socket: "redis.sock" }],
    ["config.url", { url: 7 }],
    ["config.url", { url: "redis://:p%zz@h" }],
    ["config.sentinels", { sentinels: "a:26379", name: "mymaster" }],
    ["config.sentinels", { sentinels: [], name: "mymaster" }],
    ["config.name", { sentinels: [{ host: "a" }] }],
    ["config.legacyMode", { legacyMode: true }],
    ["config.pingInterval", { pingInterval: 1_000 }],
    ["config.commandsQueueMaxLength", { commandsQueueMaxLength: 5 }],
    ["config.RESP", { RESP: 3 }],
    ["config.db", { database: 1, db: 2 }],
    ["config.constructor", { database: 1, constructor: 2 }],
  ])("refuses %s by name, because it has no exact translation", (option, config) => {
    expect(() => translated(config)).toThrow(expect.objectContaining({ name: "ConfigurationError", option }));
  });
});

const parsed = (url: unknown) => urlOptions({ url, option: "url", owner: "RedisSessionStore" });

describe("urlOptions", () => {
  it.each([
    "redis://h",
    "redis://h:6380/2?family=6",
    "rediss://u:p%2F%40@h/",
    "unix:///run/redis.sock",
    "redis://[::1]",
  ])("passes %s to ioredis", (url) => {
    expect(parsed(url)).toEqual({ url, options: {} });
  });

  it.each([
    [
      "redis+sentinel://a:1,b:2/mymaster",
      [
        ["a", 1],
        ["b", 2],
      ],
      {},
    ],
    ["redis+sentinel://a/mymaster/", [["a", 26_379]], {}],
    [
      "redis+sentinel://[::1]:7,b/mymaster",
      [
        ["::1", 7],
        ["b", 26_379],
      ],
      {},
    ],
    ["redis+sentinel://u:p%2F%3A:x@a/mymaster/3", [["a", 26_379]], { username: "u", password: "p/::x", db: 3 }],
    ["redis+sentinel://:p@a/mymaster?db=4", [["a", 26_379]], { password: "p", db: 4 }],
    ["rediss+sentinel://a:1/mymaster", [["a", 1]], { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }],
  ] as const)("reads %s", (url, sentinels, others) => {
    expect(parsed(url)).toEqual({
      url: undefined,
      options: { sentinels: sentinels.map(([host, port]) => ({ host, port })), name: "mymaster", ...others },
    });
  });

  it("decodes the name of the master", () => {
    expect(parsed("redis+sentinel://a/my%20master").options).toMatchObject({ name: "my master" });
  });

  it.each([
    "redis://:secret%zz@h",
    "redis://secret%@h",
    "redis://u:1/secret@h",
    "redis://u:1#secret@h",
    "redis://u:secret/@h",
    "redis+sentinel://:secret%@a/mymaster",
    "redis+sentinel://u:secret@a",
    "redis+sentinel://u:secret@/mymaster",
    "redis+sentinel://u:secret@a,/mymaster",
    "redis+sentinel://u:secret@a:port/mymaster",
    "redis+sentinel://u:secret@a/mymaster/x",
    "redis+sentinel://u:secret@a/mymaster?db=x",
    "redis+sentinel://a/mymaster?sentinelPassword=secret",
    "redis+sentinel://u:se/cret@a/mymaster",
    "http+sentinel://secret@a/mymaster",
  ])("refuses %s as a configuration error, without showing it", (url) => {
    const refusal = expect.objectContaining({
      name: "ConfigurationError",
      option: "url",
      retryable: false,
      message: expect.not.stringMatching(/secret|se\/cret|mymaster/),
    });
    expect(() => parsed(url)).toThrow(refusal);
  });
});
