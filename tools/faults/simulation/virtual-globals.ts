import { AsyncResource } from "node:async_hooks";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import promised from "node:timers/promises";
import type { Random } from "../../testkit/random.js";
import type { World } from "./world.js";

let current: World | undefined;

/** Makes this the world of all processes that begin from now on. */
export function enter(world: World): void {
  current = world;
}

/** The world, where the running code belongs to a process of one. */
function inWorld(): World | undefined {
  return current?.place === undefined ? undefined : current;
}

/**
 * Gives code that runs on behalf of a simulated process the time, the timers and the random numbers of its world; all
 * other code keeps those of Node.js. Before that code is loaded, once.
 */
export function simulateGlobals(): void {
  simulateTime();
  simulateTimers();
  simulateStops();
  simulateRandomness();
  syncBuiltinESMExports();
}

function simulateTime(): void {
  const { now } = performance;
  performance.now = () => {
    const world = inWorld();
    return world === undefined ? now.call(performance) : world.clock() / 1_000;
  };
  const { bigint } = process.hrtime;
  process.hrtime.bigint = () => {
    const world = inWorld();
    // A fault may end between two microseconds.
    return world === undefined ? bigint() : BigInt(Math.trunc(world.tick())) * 1_000n;
  };
  const RealDate = Date;
  const today = () => inWorld()?.today() ?? RealDate.now();
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], made) =>
      Reflect.construct(target, args.length === 0 ? [today()] : args, made) as Date,
    get: (target, name) => (name === "now" ? today : (Reflect.get(target, name) as unknown)),
  });
}

type Work = (...args: unknown[]) => void;

/** The timer that `setTimeout` returns in a world. */
class VirtualTimer {
  #cancel: () => void = () => undefined;

  constructor(
    readonly world: World,
    {
      work,
      milliseconds,
      repeats,
    }: { readonly work: () => void; readonly milliseconds: number; readonly repeats: boolean },
  ) {
    const { process } = world.place!;
    const bound = AsyncResource.bind(work);
    // As Node.js does it: a millisecond at least.
    const every = 1_000 * (milliseconds >= 1 ? Math.trunc(milliseconds) : 1);
    const plan = (from: number) => {
      this.#cancel = world.plan(from + every, "", {
        process,
        happen: () => {
          if (repeats) {
            plan(world.now);
          }
          bound();
        },
      });
    };
    plan(world.clock());
  }

  cancel(): void {
    this.#cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

function simulateTimers(): void {
  const real = { ...timers };
  const timer = (fallback: Work, repeats: boolean) =>
    function begin(work: Work, milliseconds = 0, ...args: unknown[]): unknown {
      const world = inWorld();
      return world === undefined
        ? (fallback as (...all: unknown[]) => unknown)(work, milliseconds, ...args)
        : new VirtualTimer(world, { work: () => work(...args), milliseconds, repeats });
    };
  const cancel = (fallback: (timer: never) => void) => (known: unknown) =>
    known instanceof VirtualTimer ? known.cancel() : fallback(known as never);
  const soon = (work: Work, ...args: unknown[]) => {
    const world = inWorld();
    world?.soon(true);
    return real.setImmediate(() => {
      world?.soon(false);
      work(...args);
    });
  };
  const made = {
    setTimeout: timer(real.setTimeout as unknown as Work, false),
    setInterval: timer(real.setInterval as unknown as Work, true),
    clearTimeout: cancel(real.clearTimeout),
    clearInterval: cancel(real.clearInterval),
    setImmediate: soon,
  };
  Object.assign(globalThis, made);
  Object.assign(timers, made);
  const { setTimeout: later } = promised;
  const pause = (milliseconds?: number, value?: unknown, options: { readonly signal?: AbortSignal } = {}) =>
    inWorld() === undefined ? later(milliseconds, value, options) : waitFor(milliseconds ?? 0, value, options.signal);
  Object.assign(promised, { setTimeout: pause });
}

function waitFor(milliseconds: number, value: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve(value);
    }, milliseconds);
    if (signal?.aborted === true) {
      abort();
    }
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** A process that waits in the middle of its work stops as a whole. */
function simulateStops(): void {
  const { wait } = Atomics;
  Atomics.wait = (...args: [never, number, never, number?]) => {
    const world = inWorld();
    if (world === undefined) {
      return wait(...args);
    }
    const { process } = world.place!;
    process.stoppedUntil = process.pausedUntil = Math.max(process.pausedUntil, world.now + (args[3] ?? 0) * 1_000);
    return "timed-out";
  };
}

function simulateRandomness(): void {
  const random = (): Random | undefined => inWorld()?.place?.random;
  const { random: draw } = Math;
  Math.random = () => random()?.next() ?? draw();
  const { randomUUID, randomBytes, randomFillSync } = crypto;
  const fill = (bytes: Uint8Array, from: Random) => bytes.forEach((_, at) => (bytes[at] = from.between(0, 255)));
  const viewOf = (buffer: NodeJS.ArrayBufferView) =>
    new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  const filled = <T extends NodeJS.ArrayBufferView>(buffer: T, otherwise: () => T, part = viewOf(buffer)): T => {
    const from = random();
    return from === undefined ? otherwise() : (fill(part, from), buffer);
  };
  const fillSync = (buffer: Uint8Array, offset = 0, size = buffer.byteLength - offset) =>
    filled(buffer, () => randomFillSync(buffer, offset, size), viewOf(buffer).subarray(offset, offset + size));
  const bytes = (size: number) => (random() === undefined ? randomBytes(size) : fillSync(Buffer.alloc(size)));
  const uuid = () => {
    const hex = bytes(16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  const makeUuid = (options?: crypto.RandomUUIDOptions) => (random() === undefined ? randomUUID(options) : uuid());
  Object.assign(crypto, { randomUUID: makeUuid, randomBytes: bytes, randomFillSync: fillSync });
  const web = globalThis.crypto;
  const getRandomValues = web.getRandomValues.bind(web);
  Object.defineProperty(web, "randomUUID", { value: makeUuid });
  Object.defineProperty(web, "getRandomValues", {
    value: (array: Uint8Array) => filled(array, () => getRandomValues(array)),
  });
}
