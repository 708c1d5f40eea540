import { ConfigurationError, MemoryError, StoreError } from "../src/base/errors.js";

describe("errors", () => {
  it("are recognized by isInstance, each by its own class and by the base, and by no other", () => {
    const error = new ConfigurationError("targetCount", "must be a positive integer");
    expect(ConfigurationError.isInstance(error)).toBe(true);
    expect(MemoryError.isInstance(error)).toBe(true);
    expect(StoreError.isInstance(error)).toBe(false);
    expect(MemoryError.isInstance(new Error("other"))).toBe(false);
    expect(MemoryError.isInstance(undefined)).toBe(false);
  });

  it("are recognized across copies of the package", () => {
    let copy: typeof import("../src/base/errors.js") | undefined;
    jest.isolateModules(() => {
      copy = jest.requireActual<typeof import("../src/base/errors.js")>("../src/base/errors.js");
    });
    const foreign = new copy!.StoreError("down", { code: "unavailable", operation: "append", retryable: true });
    expect(foreign instanceof StoreError).toBe(false);
    expect(StoreError.isInstance(foreign)).toBe(true);
    expect(foreign.retryable).toBe(true);
  });
});
