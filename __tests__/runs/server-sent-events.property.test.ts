import fc from "fast-check";
import { ConflictError, StoreError } from "langchain-redis-memory";
import type { RunItem } from "langchain-redis-memory/runs";
import { Run } from "../../src/runs/run.js";
import { propertyRuns } from "../support/property-runs.js";

interface Event {
  readonly type: string;
  readonly data: string;
  readonly id: string;
}

/** The events of a stream as the standard of EventSource has them: lines end with CR LF, LF or CR, and nothing else. */
function eventsIn(text: string): Event[] {
  const events: Event[] = [];
  let [type, data, id] = ["message", [] as string[], ""];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, field, value] = /^([^:]*):? ?([^]*)$/.exec(line)!;
    if (line === "") {
      events.push(...(data.length > 0 ? [{ type, data: data.join("\n"), id }] : []));
      [type, data] = ["message", []];
    } else if (field === "data") {
      data.push(value!);
    } else if (field === "event") {
      type = value!;
    } else if (field === "id") {
      id = value!;
    }
  }
  return events;
}

function runOf(items: readonly RunItem[], error?: Error): Run {
  return new Run(async function* () {
    yield* items;
    if (error !== undefined) {
      throw error;
    }
  });
}

const read = (run: Run, options?: Parameters<Run["toSSE"]>[0]) => new Response(run.toSSE(options)).text();
/** Texts with everything that some programs take for the end of a line. */
const text = fc.array(fc.constantFrom("a", "data: ", "\n", "\r", "\r\n", "\u2028", "\u2029", "\v", "\f", "\u0085"));

describe("server-sent events of a run", () => {
  it("give a page each chunk as it was, whatever it holds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text), async (texts) => {
        const chunks = texts.map((parts) => parts.join(""));
        const items = chunks.map((chunk, index) => ({ id: `1-1:${index}`, chunk }));
        const [json, plain] = await Promise.all([
          read(runOf([...items, { state: "done" }])),
          read(runOf([...items, { state: "done" }]), { encode: String }),
        ]);
        const [ends, ofJson, ofPlain] = [{ state: "done" }, eventsIn(json), eventsIn(plain)];
        expect(ofJson.slice(0, -1).map(({ data }) => JSON.parse(data) as unknown)).toEqual(chunks);
        expect(ofPlain.slice(0, -1).map(({ data }) => data)).toEqual(
          chunks.map((each) => each.replace(/\r\n?/g, "\n")),
        );
        expect(ofJson.slice(0, -1).map(({ id }) => id)).toEqual(items.map(({ id }) => id));
        expect(JSON.parse(ofJson.at(-1)!.data)).toEqual(ends);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it("end with an event also where nothing is known of the run, else a browser asks again and again", async () => {
    expect(eventsIn(await read(runOf([])))).toEqual([{ type: "end", data: "{}", id: "" }]);
    const reset = await read(runOf([{ reset: true }]));
    expect(reset).toMatch(/^event: reset\n[^]*event: end\ndata: \{\}\n\n$/);
  });

  it("have null for a chunk that JSON does not hold", async () => {
    expect(eventsIn(await read(runOf([{ id: "1-1:0", chunk: undefined }])))[0]!.data).toBe("null");
  });

  it("end without an event where a browser is to go on elsewhere, and with one where nothing helps", async () => {
    const items = [{ id: "1-1:0", chunk: "a" }];
    for (const details of [{ code: "unavailable", retryable: true }, { code: "closed" }] as const) {
      const events = eventsIn(await read(runOf(items, new StoreError("No.", { ...details, operation: "joinRun" }))));
      expect(events.map(({ type }) => type)).toEqual(["message"]);
    }
    for (const [error, end] of [
      [new StoreError("No.", { code: "damaged", operation: "joinRun" }), { state: "failed", error: "damaged" }],
      [new StoreError("No.", { code: "erased", operation: "joinRun" }), {}],
      [new ConflictError("No.", { code: "other_owner", sessionId: "s" }), {}],
    ] as const) {
      const last = eventsIn(await read(runOf(items, error))).at(-1)!;
      expect([last.type, JSON.parse(last.data)]).toEqual(["end", end]);
    }
    await expect(read(runOf(items, new TypeError("A defect.")))).rejects.toThrow("A defect.");
  });
});
