import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { LogReader } from "../../src/memory/sessions/read-log.js";
import type { SessionData } from "../../src/store/contract/session-data.js";
import { record, texts } from "../../testing/session-store/store-case.js";

/** Reads a log of records of this many bytes to its end, and returns the number of records of each page. */
async function pagesOf(count: number, bytes: number): Promise<number[]> {
  const store = new InMemorySessionStore({ limits: { maxAppendBytes: 1e9 } });
  const list = Array.from({ length: count }, (_, index) => record(`a${index}`, { text: "x".repeat(bytes) }));
  await store.append({ id: "s" }, { records: list });
  const pages: number[] = [];
  const readPage: SessionData["readPage"] = async (session, request) => {
    const page = await store.data.readPage(session, request);
    pages.push(page!.records.length);
    return page;
  };
  const reader = new LogReader({ data: { readPage } }, { id: "s" });
  const found: string[] = [];
  while (found.length < count) {
    found.push(...(await reader.read(found.length, count))!);
  }
  expect(found).toEqual(texts(list));
  return pages;
}

describe("The reader of whole logs", () => {
  it("reads up to 500 records at once", async () => {
    expect(await pagesOf(1_250, 10)).toEqual([100, 500, 500, 150]);
  });

  it("reads about a megabyte at once where records are large", async () => {
    const [first, ...rest] = await pagesOf(160, 100_000);
    expect(first).toBe(100);
    expect(Math.max(...rest)).toBeLessThan(11);
  });

  it("finds nothing where the records are not there any more", async () => {
    const store = new InMemorySessionStore();
    await store.append({ id: "s" }, { records: [record("a")] });
    expect(await new LogReader(store, { id: "s" }).read(1, 9)).toBeUndefined();
  });
});
