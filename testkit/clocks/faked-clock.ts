import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { canInstall, installDebianPackage } from "../servers/redis-binary.js";
import { onFreePort, startRedisOn, type PrivateRedis } from "../servers/redis-server.js";

/** A server whose clock of the day is not this machine's. */
export interface FakedClockRedis extends PrivateRedis {
  /** Sets the clock this many seconds ahead of this machine's, or behind it. */
  shiftClock(seconds: number): void;
  /** Lets the clock stand still at this many seconds since 1970, a fraction included. */
  stopClock(seconds: number): void;
}

/** Starts a server whose clock is this many seconds ahead of this machine's. */
export async function startFakedClockRedis(seconds = 0, args: readonly string[] = []): Promise<FakedClockRedis> {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-clock-"));
  const file = join(folder, "shift");
  const write = (text: string) => {
    // Renamed, so that the server never reads half of it.
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  const shiftClock = (by: number) => write(`${by}`);
  const stopClock = (at: number) => write(`=${at}`);
  shiftClock(seconds);
  const environment = { LD_PRELOAD: requireShim(), FAKED_CLOCK: file };
  const server = await onFreePort((port) => startRedisOn(port, args, environment));
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...server, stop, shiftClock, stopClock };
}

/** The number of the system call by Node.js's name of the machine. */
const clockGettime: Readonly<Record<string, number>> = { x64: 228, arm64: 113 };

/** The shared library of faked-clock.c, made at the first use by a compiler that is found or installed. */
function requireShim(): string {
  const shim = resolve(".cache/faked-clock-3.so");
  if (!existsSync(shim)) {
    const number = clockGettime[process.arch];
    const sentence = "The tests with a faked clock need Linux on x64 or arm64 and a C compiler: install tcc or gcc.";
    if (process.platform !== "linux" || number === undefined) {
      throw new Error(sentence);
    }
    mkdirSync(resolve(".cache"), { recursive: true });
    const made = `${shim}.${process.pid}`;
    const source = resolve("testkit/clocks/faked-clock.c");
    execFileSync(
      requireCompiler(sentence),
      ["-shared", "-fPIC", "-nostdlib", `-DCLOCK_GETTIME=${number}`].concat("-o", made, source),
    );
    renameSync(made, shim);
  }
  return shim;
}

function requireCompiler(sentence: string): string {
  const found = () => ["tcc", "gcc", "cc"].find((name) => isRunnable(name));
  if (found() === undefined && canInstall()) {
    installDebianPackage("tcc", "a C compiler");
  }
  const compiler = found();
  if (compiler === undefined) {
    throw new Error(sentence);
  }
  return compiler;
}

function isRunnable(name: string): boolean {
  try {
    execFileSync(name, [name === "tcc" ? "-v" : "--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
