import { chmodSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findRedisServer, linkServerProgram } from "../../tools/testkit/servers/redis-binary.js";

describe("the redis-server used by the tests", () => {
  let folder: string;
  let link: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "redis-binary-"));
    link = join(folder, "cache", "redis-server");
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const find = (environment: Readonly<Record<string, string>>) => findRedisServer({ environment, link });

  it("is the one that REDIS_SERVER_BIN names, before any other", () => {
    const onPath = program(join(folder, "bin"), "redis-server");
    expect(find({ REDIS_SERVER_BIN: "/opt/redis/redis-server", PATH: join(onPath, "..") })).toBe(
      "/opt/redis/redis-server",
    );
    expect(find({ REDIS_SERVER_BIN: "", PATH: join(onPath, "..") })).toBe(onPath);
  });

  it("is the first executable one on the PATH", () => {
    const plain = program(join(folder, "a"), "redis-server");
    chmodSync(plain, 0o644);
    const second = program(join(folder, "b"), "redis-server");
    const third = program(join(folder, "c"), "redis-server");
    expect(find({ PATH: ["", join(plain, ".."), join(second, ".."), join(third, "..")].join(delimiter) })).toBe(second);
  });

  it("is missing if neither variable leads to one", () => {
    expect(find({})).toBeUndefined();
    expect(find({ PATH: [folder, join(folder, "none")].join(delimiter) })).toBeUndefined();
  });

  it("is the linked program of an earlier run if the PATH has none", () => {
    const server = program(folder, "redis-check-rdb", "Redis server v=7.0.15");
    expect(linkServerProgram(server, link)).toBe(link);
    expect(linkServerProgram(server, link)).toBe(link);
    expect(readlinkSync(link)).toBe(server);
    expect(find({ PATH: folder })).toBe(link);
    rmSync(server);
    expect(find({ PATH: folder })).toBeUndefined();
  });

  it("is not linked to a program that is not a server", () => {
    expect(() => linkServerProgram(program(folder, "redis-check-rdb", "redis-check-rdb 7.0.15"), link)).toThrow(
      "is no server",
    );
    expect(find({ PATH: folder })).toBeUndefined();
  });
});

function program(folder: string, name: string, output = ""): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho "${output}"\n`);
  chmodSync(path, 0o755);
  return path;
}
