import { ConfigurationError } from "../../src/base/errors.js";
import { ReferenceManager } from "../../src/doors/tool-loop/stored/reference-manager.js";
import { chunks } from "./instances.js";

describe("ReferenceManager", () => {
  it("numbers sources from 1 across all tool calls and never assigns a number twice", () => {
    const references = new ReferenceManager();
    expect(references.addChunks("a", chunks(2))).toEqual([1, 2]);
    expect(references.addChunks("b", chunks(1, { id: "other" }))).toEqual([3]);
    references.forget([3]);
    expect(references.addChunks("a", chunks(1))).toEqual([4]);
    expect(references.chunkOf(3)).toBeUndefined();
    expect(references.chunkOf(2)).toEqual(chunks(2)[1]);
  });

  it("finds all references to a chunk, in order", () => {
    const references = new ReferenceManager();
    references.addChunks("a", chunks(2));
    references.addChunks("b", chunks(1));
    expect(references.lookup("doc_c0").map(({ sourceNumber, toolCallId }) => [sourceNumber, toolCallId])).toEqual([
      [1, "a"],
      [3, "b"],
    ]);
    references.forget([1]);
    expect(references.lookup("doc_c0").map(({ sourceNumber }) => sourceNumber)).toEqual([3]);
    expect(references.lookup("doc_c9")).toEqual([]);
  });

  it("finds citations in any letter case, each number once, in order of mention", () => {
    const references = new ReferenceManager();
    expect(
      references.cited("As [source12] and [SOURCE2] say, and [Source12] again; [source] and source3 do not count."),
    ).toEqual([12, 2]);
    expect(references.cited("[source 7]")).toEqual([7]);
    expect(references.cited("")).toEqual([]);
  });

  it("restores references that were numbered elsewhere and continues after them", () => {
    const references = new ReferenceManager();
    references.restore([{ sourceNumber: 9, toolCallId: "x", chunk: chunks(1)[0]! }]);
    expect(references.nextNumber).toBe(10);
    references.continueFrom(5);
    references.continueFrom(20);
    expect(references.addChunks("y", chunks(1))).toEqual([20]);
    expect(references.toList().map(({ sourceNumber }) => sourceNumber)).toEqual([9, 20]);
    expect(() => references.continueFrom(0)).toThrow(ConfigurationError);
  });

  it("keeps its own copy of a chunk", () => {
    const references = new ReferenceManager();
    const [chunk] = chunks(1);
    references.addChunks("a", [chunk!]);
    (chunk as { text: string }).text = "changed";
    expect(references.chunkOf(1)?.text).toBe(chunks(1)[0]!.text);
  });
});
