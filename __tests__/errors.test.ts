import { join } from "node:path";
import {
  BudgetError,
  ConfigurationError,
  ConflictError,
  EncryptionError,
  httpStatusOf,
  MemoryError,
  RecordError,
  StoreError,
  StructureError,
  SummaryError,
} from "../src/base/errors.js";
import { readDocument } from "./support/markdown.js";

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

describe("the HTTP status of an error", () => {
  const store = (code: StoreError["code"]) => new StoreError("x", { code, operation: "append" });
  const conflict = (code: ConflictError["code"]) => new ConflictError("x", { code, sessionId: "s" });
  const record = (code: RecordError["code"]) => new RecordError("x", { code });
  const encryption = (retryable: boolean) =>
    new EncryptionError("x", { code: "unknown_key", sessionId: "s", keyId: "k", retryable });
  const cases: readonly (readonly [status: number, errors: readonly MemoryError[]])[] = [
    [400, [new ConfigurationError("limit", "x"), new StructureError("x", [])]],
    [400, (["unsupported_message", "refused"] as const).map(record)],
    [404, [store("erased")]],
    [404, (["other_owner", "unknown_session", "unknown_message", "unknown_checkpoint"] as const).map(conflict)],
    [
      409,
      (["content", "position", "epoch", "stale", "busy", "nested_turn", "fenced", "exists"] as const).map(conflict),
    ],
    [413, [store("too_large"), new BudgetError("x", { needed: 2, allowed: 1 })]],
    [503, (["unavailable", "timeout", "out_of_memory", "read_only", "closed"] as const).map(store)],
    [503, [new SummaryError("x", { code: "failed" }), encryption(true)]],
    [500, (["wrong_type", "damaged", "script_failed"] as const).map(store)],
    [500, [...(["corrupt", "unsupported_version"] as const).map(record), encryption(false)]],
  ];
  const all = cases.flatMap(([status, errors]) => errors.map((error) => [status, error] as const));

  it.each(all.map(([status, error]) => [status, error.name, error.code, error] as const))(
    "is %i for a %s %s, also as the cause of LangChain's error",
    (status, _name, _code, error) => {
      expect(httpStatusOf(error)).toBe(status);
      expect(httpStatusOf(new Error("wrapped", { cause: new Error("again", { cause: error }) }))).toBe(status);
    },
  );

  it("is 500 for everything else, a circle of causes included", () => {
    const circle = new Error("x");
    circle.cause = circle;
    expect([undefined, null, "text", new Error("x"), circle].map(httpStatusOf)).toEqual([500, 500, 500, 500, 500]);
  });

  it("was looked at for every code that the page about troubleshooting explains", () => {
    const page = readDocument(join(__dirname, ".."), "docs/troubleshooting.md");
    const errors = page.slice(0, page.indexOf("\n## Events"));
    const codes = [...errors.matchAll(/^### `(\w+)`/gm)].map(([, code]) => code!);
    // Of SummaryError all are retryable alike; `wrong_key` and `plain_text` are, as `unknown_key`, no client's fault.
    const alike = ["empty", "cut_off", "too_long", "backing_off", "wrong_key", "plain_text", "unsupported_ranks"];
    const seen = new Set([...all.map(([, { code }]) => code), ...alike]);
    expect(codes.filter((code) => !seen.has(code))).toEqual([]);
  });
});
