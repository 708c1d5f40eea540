import { urlOptions } from "../../src/store/redis/connection-url.js";

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
