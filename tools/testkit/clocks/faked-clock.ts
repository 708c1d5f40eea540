import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
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

/** The allocator's thread waits until a time of day: for ever, or not at all, where the clock stands still. */
const settings = ["--jemalloc-bg-thread", "no"];

/** Starts a server whose clock is this many seconds ahead of this machine's. */
export async function startFakedClockRedis(seconds = 0, args: readonly string[] = []): Promise<FakedClockRedis> {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-clock-"));
  const path = join(folder, "time");
  const file = openSync(path, "w");
  const record = Buffer.alloc(16);
  const write = (time: number, stands: 0 | 1) => {
    const number = BigInt(Math.round(time * 1_000_000)) * 2n + BigInt(stands);
    record.writeBigInt64LE(number, 0);
    record.writeBigInt64LE(number, 8);
    writeSync(file, record, 0, record.length, 0);
  };
  const shiftClock = (by: number) => write(by, 0);
  const stopClock = (at: number) => write(at, 1);
  shiftClock(seconds);
  const environment = { LD_PRELOAD: requireShim(), FAKED_CLOCK: path };
  const server = await onFreePort((port) => startRedisOn(port, [...settings, ...args], environment));
  const stop = async () => {
    await server.stop();
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...server, stop, shiftClock, stopClock };
}

/** The number of the system call by Node.js's name of the machine. */
const clockGettime: Readonly<Record<string, number>> = { x64: 228, arm64: 113 };

/** The shared library of faked-clock.c, made at the first use by a compiler that is found or installed. */
function requireShim(): string {
  const shim = resolve(".cache/faked-clock-4.so");
  if (!existsSync(shim)) {
    const number = clockGettime[process.arch];
    const sentence = "The tests with a faked clock need Linux on x64 or arm64 and a C compiler: install tcc or gcc.";
    if (process.platform !== "linux" || number === undefined) {
      throw new Error(sentence);
    }
    mkdirSync(resolve(".cache"), { recursive: true });
    const made = `${shim}.${process.pid}`;
    const source = resolve("tools/testkit/clocks/faked-clock.c");
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
