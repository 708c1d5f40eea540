import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";

/** The places of redis-server, and the versions of Debian's package; given by tests only. */
interface RedisPlaces {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Made by {@link linkServerProgram}: the program under the name that makes it a server. */
  readonly link?: string;
}

/** In the folder that npm scripts run in; this file is loaded as CommonJS by the tests and as ESM by the demo. */
const defaultLink = resolve(".cache/redis-server");

/**
 * Debian's redis-tools holds the one program that is server and checker, by the name that it is called by; redis-server
 * adds a link and a service.
 */
const serverProgram = "/usr/bin/redis-check-rdb";

/**
 * The path of a redis-server: REDIS_SERVER_BIN, or one on the PATH, or the one that an earlier run installed; undefined
 * where there is none.
 */
export function findRedisServer({ environment = process.env, link = defaultLink }: RedisPlaces = {}):
  string | undefined {
  const named = environment["REDIS_SERVER_BIN"];
  if (named !== undefined && named !== "") {
    return named;
  }
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...folders.map((folder) => join(folder, "redis-server")), link].find(isExecutable);
}

/** The same, installing Debian's package where that is possible; an error with one sentence where it is not. */
export function requireRedisServer(): string {
  const found = findRedisServer();
  if (found !== undefined) {
    return found;
  }
  const sentence =
    "The tests need a redis-server: install one (for example `apt-get install redis-server`) or set " +
    "REDIS_SERVER_BIN to its path.";
  if (!canInstall()) {
    throw new Error(sentence);
  }
  try {
    return installRedisServer();
  } catch (cause) {
    throw new Error(`${sentence} Installing it failed: ${lastLine(cause)}`, { cause });
  }
}

/** Links the program under the name `redis-server` and returns the link, once it is seen to be a server. */
export function linkServerProgram(program: string, link: string): string {
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(program, link);
  const version = execFileSync(link, ["--version"], { encoding: "utf8" });
  if (!/\bserver v=/.test(version)) {
    rmSync(link);
    throw new Error(`${program} is no server`);
  }
  return link;
}

/** True where the tests may install Debian's packages: on Debian, as root. */
export function canInstall(): boolean {
  return existsSync("/etc/debian_version") && process.getuid?.() === 0;
}

/** Installs a package of Debian, for the program that was not found. */
export function installDebianPackage(name: string, missing: string): void {
  process.stderr.write(`${missing} not found: installing Debian's package ${name} for the tests\n`);
  runAptGet(["update"]);
  runAptGet(["install", "-y", "--no-install-recommends", name]);
}

/** Installs redis-tools and not redis-server, so that no service starts on Redis's default port. */
function installRedisServer(): string {
  installDebianPackage("redis-tools", "redis-server");
  return linkServerProgram(serverProgram, defaultLink);
}

function runAptGet(args: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=120", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env,
  });
}

function lastLine(error: unknown): string {
  const said = String((error as { stderr?: unknown }).stderr ?? "").trim() || String((error as Error).message);
  return said.split("\n").at(-1)!;
}

/** True for a file that this process may run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
