type CounterModule = typeof import("../../src/conversation/tokens/counters/tiktoken-counter.js");

describe("loading an encoding", () => {
  let loads: string[];

  beforeEach(() => {
    loads = [];
    jest.resetModules();
    for (const name of ["o200k_base", "cl100k_base"]) {
      jest.doMock(`js-tiktoken/ranks/${name}`, () => {
        loads.push(name);
        return jest.requireActual<object>(`js-tiktoken/ranks/${name}`);
      });
    }
  });

  it("waits until something is counted, then happens once, whatever the number of counters and calls", async () => {
    const { tiktokenCounter } = await counterModule();
    const counter = tiktokenCounter();
    const another = tiktokenCounter();
    expect(loads).toEqual([]);
    await Promise.all([counter.countText("one"), counter.countText("two"), another.countText("three")]);
    await tiktokenCounter({ encoding: "cl100k_base" }).countText("four");
    expect(loads).toEqual(["o200k_base", "cl100k_base"]);
  });

  it("uses no network", async () => {
    const fetching = jest.spyOn(globalThis, "fetch").mockRejectedValue(new Error("no network in this test"));
    const { tiktokenCounter } = await counterModule();
    expect(await tiktokenCounter().countText("hello world")).toBe(2);
    expect(fetching).not.toHaveBeenCalled();
    fetching.mockRestore();
  });

  it("that failed is tried again by the next count", async () => {
    jest.doMock("js-tiktoken/ranks/o200k_base", () => {
      loads.push("o200k_base");
      if (loads.length === 1) {
        throw new Error("disk trouble");
      }
      return jest.requireActual<object>("js-tiktoken/ranks/o200k_base");
    });
    const counter = (await counterModule()).tiktokenCounter();
    await expect(counter.countText("hello world")).rejects.toThrow("disk trouble");
    expect(await counter.countText("hello world")).toBe(2);
  });
});

async function counterModule(): Promise<CounterModule> {
  return import("../../src/conversation/tokens/counters/tiktoken-counter.js");
}
