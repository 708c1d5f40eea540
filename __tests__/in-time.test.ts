import { getEventListeners } from "node:events";
import { callWithin, inTime } from "../src/base/bounds.js";

const never = new Promise<never>(() => undefined);
const failure = new Error("failed");

/** The timers that keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

/** Resolves behind everything that is due now, handlers of rejections included. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("inTime", () => {
  it.each<[string, unknown, unknown]>([
    ["a promise's value", Promise.resolve(1), { value: 1 }],
    ["a plain value", undefined, { value: undefined }],
    ["a promise's rejection", Promise.reject(failure), { error: failure }],
  ])("gives %s, and leaves no timer", async (_, promise, outcome) => {
    const before = timers();
    const late = jest.fn();
    const given = await inTime(promise, 60_000, late).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    expect(given).toEqual(outcome);
    expect(timers()).toBe(before);
    expect(late).not.toHaveBeenCalled();
  });

  it("gives what the function for later returns or throws", async () => {
    await expect(inTime(never, 1, () => "late")).resolves.toBe("late");
    const late = () => {
      throw failure;
    };
    await expect(inTime(never, 1, late)).rejects.toBe(failure);
  });

  it("ignores a rejection that comes later", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    let reject!: (error: Error) => void;
    const promise = new Promise<void>((_, refuse) => (reject = refuse));
    await inTime(promise, 1, () => undefined);
    reject(failure);
    await settled();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

describe("callWithin", () => {
  const bounds = { milliseconds: 60_000, late: () => new Error("late") };

  it("gives the call's outcome, and leaves no timer and no listener", async () => {
    const { signal } = new AbortController();
    const before = timers();
    await expect(callWithin({ ...bounds, signal }, () => Promise.resolve(1))).resolves.toBe(1);
    await expect(callWithin({ ...bounds, signal }, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(timers()).toBe(before);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it.each<[string, (signal: AbortSignal) => Promise<never>]>([
    ["ignores its signal", () => never],
    ["obeys its signal", rejectedWhenAborted],
  ])("throws its own error for a call that takes longer and %s", async (_, call) => {
    let given!: AbortSignal;
    const ended = callWithin({ ...bounds, milliseconds: 1 }, (signal) => call((given = signal)));
    await expect(ended).rejects.toThrow("late");
    expect(given.aborted).toBe(true);
  });

  it.each<[string, (signal: AbortSignal) => Promise<never>]>([
    ["ignores its signal", () => never],
    ["obeys its signal", rejectedWhenAborted],
  ])("throws the reason of the caller's signal for a call that %s", async (_, call) => {
    const before = timers();
    const stop = new AbortController();
    let given!: AbortSignal;
    const ended = callWithin({ ...bounds, signal: stop.signal }, (signal) => call((given = signal)));
    stop.abort(failure);
    await expect(ended).rejects.toBe(failure);
    expect(given.reason).toBe(failure);
    expect(timers()).toBe(before);
  });

  it("makes no call for a signal that has aborted", async () => {
    const call = jest.fn();
    await expect(callWithin({ ...bounds, signal: AbortSignal.abort(failure) }, call)).rejects.toBe(failure);
    expect(call).not.toHaveBeenCalled();
  });
});

function rejectedWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("own"))));
}
