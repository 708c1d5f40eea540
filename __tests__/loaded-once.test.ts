import { loadedOnce } from "../src/base/bounds.js";

describe("what is loaded once", () => {
  it("is loaded by the first call, and for all that call meanwhile", async () => {
    const load = jest.fn(async () => ({ name: "loaded" }));
    const loaded = loadedOnce(load);
    expect(load).not.toHaveBeenCalled();
    const [first, second] = await Promise.all([loaded(), loaded()]);
    expect(first).toBe(second);
    expect(load).toHaveBeenCalledTimes(1);
  });

  it("is loaded again after a load that failed", async () => {
    const load = jest.fn(async () => ({ name: "loaded" }));
    load.mockRejectedValueOnce(new Error("The file is not there."));
    const loaded = loadedOnce(load);
    await expect(Promise.all([loaded(), loaded()])).rejects.toThrow("not there");
    await expect(loaded()).resolves.toEqual({ name: "loaded" });
    expect(load).toHaveBeenCalledTimes(2);
  });
});
