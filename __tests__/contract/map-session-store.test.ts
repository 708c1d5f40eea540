import { MapSessionStore } from "../../examples/support/map-session-store.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";

let passed = 0;
const now = Date.now;
const cases = sessionStoreContract({
  groups: [],
  create: () => new MapSessionStore(),
  wait: (milliseconds) => {
    passed += milliseconds;
  },
});

beforeAll(() => jest.spyOn(Date, "now").mockImplementation(() => now() + passed));
afterAll(() => jest.restoreAllMocks());

describe("the store of the examples, which has the core only, keeps the contract of session stores", () => {
  for (const { title, run } of cases) {
    it(title, run);
  }

  it("and is asked for nothing else", () => {
    const all = sessionStoreContract({ create: () => new MapSessionStore() }).map(({ title }) => title);
    const left = all.filter((title) => !cases.some((applicable) => applicable.title === title));
    expect(left.length).toBeGreaterThan(20);
    expect(left).toContain("a lease has one holder until it is released");
    expect(cases.length).toBeGreaterThan(30);
  });
});
