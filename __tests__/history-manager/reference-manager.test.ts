import { ReferenceManager } from "../../src/doors/tool-loop/stored/reference-manager.js";
import { chunks } from "./instances.js";

describe("ReferenceManager", () => {
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

  it("keeps its own copy of a chunk", () => {
    const references = new ReferenceManager();
    const [chunk] = chunks(1);
    references.addChunks("a", [chunk!]);
    (chunk as { text: string }).text = "changed";
    expect(references.chunkOf(1)?.text).toBe(chunks(1)[0]!.text);
  });
});
