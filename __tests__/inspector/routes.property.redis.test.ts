import fc from "fast-check";
import { inputsFrom } from "../../tools/faults/fuzzing/inputs.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { get, inspectedPlaces, type InspectedPlace } from "../support/inspectors.js";
import { ai, human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

const place = inspectedPlaces();

/** All but `api/events`, whose answer does not end. */
const paths = [
  ...["server", "sessions", "session", "report", "report.txt", "outline", "messages", "text", "findings", "find"],
  ...["search", "gauge", "threads", "thread", "what-if", "test-case", "export", "constructor", "../", ""],
];
const names = [
  ...["id", "from", "limit", "index", "position", "place", "of", "search", "only", "cursor", "text", "words"],
  ...["reducer", "profile", "q", "at", "edition", "__proto__"],
];
const values = [
  ...["sound", "odd", "bare", "none", "call", "0", "1", "2", "999999999999999", "-1", "1e9", "NaN", "", "*", "["],
  ...["truncation", "tokens:1", "count=0", "langchain", "openai", "MTA", "\ud800", "%", "\u0000", "{}", '{"type":'],
];
const pair = fc.tuple(
  fc.oneof({ arbitrary: fc.constantFrom(...names), weight: 6 }, fc.string({ maxLength: 5 })),
  fc.oneof({ arbitrary: fc.constantFrom(...values), weight: 6 }, fc.string({ unit: "binary", maxLength: 40 })),
);
const session = fc.constantFrom("sound", "odd", "odd", "bare").map((id): [string, string] => ["id", id]);
const asked = fc.record({
  path: fc.constantFrom(...paths),
  query: fc.tuple(fc.array(pair, { maxLength: 4 }), session).map(([pairs, id]) => [id, ...pairs]),
  isRaw: fc.constantFrom(false, false, false, true),
});

/** A session whose records and head somebody else wrote. */
async function writeOdd(
  { client, keyPrefix, memory, add }: InspectedPlace,
  odd: { readonly records: readonly string[]; readonly head: string },
): Promise<void> {
  const { log, state } = sessionKeys(keyPrefix, "odd");
  await client.unlink(log);
  await memory().history("odd").clear();
  await add("odd", [human("hi"), ai("there")]);
  await client.rpush(log, ...odd.records);
  await client.hset(state, { next: 2 + odd.records.length, head: odd.head, headCount: 1 });
}

async function openPlace(): Promise<InspectedPlace> {
  const opened = await place();
  const { client, keyPrefix, add } = opened;
  await add("sound", [human("hi"), ai("there"), human("again")]);
  // No key of this session says anything else of it.
  await client.rpush(sessionKeys(keyPrefix, "bare").log, "no record", "");
  return opened;
}

describe("the inspector's routes", () => {
  it("answer in time whatever is asked of whatever is stored, and never by an unknown error", async () => {
    const opened = await openPlace();
    const stored = fc.record({ records: fc.array(inputsFrom("record"), { minLength: 1 }), head: inputsFrom("head") });
    const statuses = new Set<number>();
    const requests = fc.array(asked, { minLength: 4, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(stored, requests, async (odd, all) => {
        await writeOdd(opened, odd);
        for (const { path, query, isRaw } of all) {
          const begin = process.cpuUsage();
          const text = new URLSearchParams(query).toString();
          const { status } = await get(
            `${opened.inspector.url}api/${path}?${isRaw ? text.replaceAll("=", "%") : text}`,
          );
          const { user, system } = process.cpuUsage(begin);
          expect({ path, query, status, isInTime: user + system < 1_000_000 }).toMatchObject({ isInTime: true });
          expect({ path, query, status }).not.toMatchObject({ status: 500 });
          statuses.add(status);
        }
      }),
      { numRuns: propertyRuns(60) },
    );
    expect(statuses.size).toBeGreaterThan(2);
    expect((await get(`${opened.inspector.url}api/session?id=sound`)).status).toBe(200);
  });
});
