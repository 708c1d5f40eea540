import fc from "fast-check";
import { keyPrefixIssue, sessionKeys } from "../../src/store/redis/keys.js";
import { checkSessionId, decodeSessionId, encodeSessionId } from "../../src/store/contract/session-ref.js";
import { forAll } from "../support/property-runs.js";

const sessionIds = fc
  .string({ unit: "binary", minLength: 1, maxLength: 120 })
  .filter((id) => Buffer.byteLength(id) <= 512 && !/\p{Surrogate}/u.test(id));

describe("sessionKeys", () => {
  it("combines prefix, hash tag and part in every key", () => {
    expect(sessionKeys("app", "alice@example.com/7")).toEqual({
      log: "app:{alice%40example.com%2F7}:log",
      ids: "app:{alice%40example.com%2F7}:ids",
      state: "app:{alice%40example.com%2F7}:state",
      lease: "app:{alice%40example.com%2F7}:lease",
    });
  });

  it.each([
    ["it's (a) *!", "it%27s%20%28a%29%20%2A%21"],
    ["{a}:b", "%7Ba%7D%3Ab"],
    ["a.b_c~d-1", "a.b_c~d-1"],
  ])("has the session %j as %s", (id, encoded) => {
    expect(encodeSessionId(id)).toBe(encoded);
    expect(decodeSessionId(encoded)).toBe(id);
  });

  it("can be decoded to the session id, so that different ids never share a key", () =>
    forAll(300, sessionIds, (id) => {
      const encoded = encodeSessionId(id);
      expect(encoded).toMatch(/^([A-Za-z0-9._~-]|%[0-9A-F]{2})+$/);
      expect(decodeURIComponent(encoded)).toBe(id);
    }));
});

describe("checkSessionId", () => {
  it.each([
    ["an empty id", ""],
    ["513 bytes", "x".repeat(513)],
    ["514 bytes in 257 characters", "é".repeat(257)],
    ["half of a pair", "a\ud83d"],
  ])("refuses %s", (_, id) => {
    expect(() => checkSessionId(id)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", option: "sessionId" }),
    );
  });

  it("does not scan a huge string", () => {
    expect(() => checkSessionId("x".repeat(50_000_000))).toThrow(/512 bytes/);
  });
});

describe("keyPrefixIssue", () => {
  it.each(["", "app{x}", "app}", "a b", "a\tb", "a\nb", "a\u0000", "a\u200bb", "a\u00a0"])("refuses %j", (prefix) => {
    expect(keyPrefixIssue(prefix)).toMatch(/^must not /);
  });

  it.each(["lcmem", "app:chat", "é", "a-b_c.d"])("accepts %j", (prefix) => {
    expect(keyPrefixIssue(prefix)).toBeUndefined();
  });
});
