import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

interface Environment {
  load(path: string): unknown;
  teardown(): Promise<void>;
}

const OneRealmEnvironment =
  jest.requireActual<new (context: { projectConfig: object }) => Environment>("./one-realm-environment.cjs");
const mark = Symbol.for("one-realm-environment.test");

describe("The environment of the tests", () => {
  const globals = globalThis as unknown as Record<string | symbol, unknown>;

  it("gives back globals, variables and the exit code as they were, and what Jest put into the process", async () => {
    const { fetch, process: same } = globalThis;
    const before = { exit: process.exit, exitCode: process.exitCode, home: process.env["HOME"] };
    const environment = new OneRealmEnvironment({ projectConfig: {} });
    Object.assign(globals, { fetch: () => undefined, leftOver: 1, [mark]: 1 });
    Object.assign(process.env, { LEFT_OVER: "1", HOME: "elsewhere" });
    Object.assign(process, { exit: () => undefined, exitCode: 3 });
    await environment.teardown();
    expect([globalThis.fetch === fetch, globalThis.process === same]).toEqual([true, true]);
    expect([globals["leftOver"], globals[mark], process.env["LEFT_OVER"]]).toEqual([undefined, undefined, undefined]);
    expect({ exit: process.exit, exitCode: process.exitCode, home: process.env["HOME"] }).toEqual(before);
  });

  it("keeps the globals that a package sets while it is loaded, as the package stays too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lcmem-package-"));
    const path = join(folder, "package.cjs");
    writeFileSync(path, `globalThis[Symbol.for("${mark.description}")] = 2; module.exports = "loaded";`);
    const environment = new OneRealmEnvironment({ projectConfig: {} });
    expect(environment.load(path)).toBe("loaded");
    globals["leftOver"] = 1;
    await environment.teardown();
    expect([globals[mark], globals["leftOver"]]).toEqual([2, undefined]);
    rmSync(folder, { recursive: true });
  });

  it("is the realm of the packages, which see its classes and its globals", () => {
    const client = new Redis({ lazyConnect: true });
    expect(client.options).toBeInstanceOf(Object);
    expect(jest.requireActual<{ Redis: unknown }>("ioredis").Redis).toBe(Redis);
    client.disconnect();
  });
});
