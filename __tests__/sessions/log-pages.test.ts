import { logPages } from "../../src/memory/sessions/read-log.js";
import { all } from "../support/all.js";

/** A store of one log, which another one follows after some reads. */
function storeOf(log: readonly string[], { then = log, reads = Infinity } = {}) {
  let count = 0;
  const readPage = async (_: unknown, { after = -1, limit }: { readonly after?: number; readonly limit: number }) => {
    count += 1;
    const records = count > reads ? then : log;
    const page = records.slice(after + 1, after + 1 + limit);
    return { records: page, from: after + 1, base: 0, next: records.length, damaged: false };
  };
  return { data: { readPage } } as unknown as Parameters<typeof logPages>[0];
}

async function pagesOf(...request: Parameters<typeof logPages>) {
  return all(logPages(...request));
}

describe("the pages of a log", () => {
  it("are about a megabyte each, and hold every record once, however long", async () => {
    for (const length of [10, 5_000, 2_000_000]) {
      const log = Array.from({ length: 110 }, (_, index) => `${index}`.padEnd(length, "x"));
      const pages = await pagesOf(storeOf(log), { id: "s" }, { from: 3, end: 108 });
      expect(pages.flat()).toEqual(log.slice(3, 108));
      expect(pages.slice(1).every((page) => page.length * length <= 2_000_000)).toBe(true);
    }
  });

  it("end where the log is another one than before", async () => {
    const log = Array.from({ length: 110 }, (_, index) => `${index}`);
    const then = log.map((record, index) => (index < 90 ? record : `other ${index}`));
    const pages = await pagesOf(storeOf(log, { then, reads: 1 }), { id: "s" }, { from: 0, end: 110 });
    expect(pages.flat()).toEqual(log.slice(0, 100));
  });
});
