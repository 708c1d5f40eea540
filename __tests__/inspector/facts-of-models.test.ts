import fc from "fast-check";
import type { AnswerUsage, OutlineEntry } from "../../cli/inspector/model/data.js";
import { usageWords } from "../../cli/inspector/model/figures-in-words.js";
import { factOf, usageOfRounds, type ModelFact } from "../../cli/inspector/model/facts-of-models.js";

const human: OutlineEntry = { role: "human", tokens: 1, size: 1 };
const answer = (usage?: Partial<AnswerUsage>): OutlineEntry => ({
  ...{ role: "ai", tokens: 1, size: 1 },
  ...(usage && { usage: { model: "m", input: 0, output: 0, cached: 0, ...usage } }),
});

describe("what is said of models", () => {
  it("holds for a name, or for all names that begin so; the first fact counts", () => {
    const facts: ModelFact[] = [
      { name: "gpt-x", window: 10 },
      { name: "gpt-*", window: 20, price: { input: 1, output: 2 } },
    ];
    expect(["gpt-x", "gpt-y", "other"].map((model) => factOf(facts, "window", model))).toEqual([10, 20, undefined]);
    expect(factOf(facts, "price", "gpt-x")).toEqual({ input: 1, output: 2 });
  });

  it("gives the tokens and the price of each round and of all, cached tokens at their own price", () => {
    const outline = [
      answer({ input: 7 }),
      human,
      answer({ input: 1_000_000, cached: 400_000, output: 100_000 }),
      answer(),
      answer({ input: 10, output: 5, model: "other" }),
      human,
      answer(),
    ];
    const facts = [{ name: "m", price: { input: 2, output: 8, cached: 0.5 } }];
    const { rounds, total } = usageOfRounds({ outline, base: 100, end: 107 }, facts);
    expect([...rounds.keys()]).toEqual([101]);
    const first = { answers: 2, input: 1_000_010, output: 100_005, cached: 400_000, unpriced: ["other"] };
    expect(rounds.get(101)).toMatchObject(first);
    expect(rounds.get(101)!.cost).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8, 9);
    expect(total).toMatchObject({ answers: 3, input: 1_000_017 });
    expect(usageWords(rounds.get(101)!)).toBe(
      "2 answers: 1,000,010 tokens in (400,000 cached), 100,005 out, cost 2.20 without other",
    );
    expect(usageOfRounds({ outline, base: 100, end: 101 }, []).total).toEqual({
      ...{ answers: 1, input: 7, output: 0, cached: 0, unpriced: ["m"] },
    });
  });

  it("sums up to the whole, whatever the answers are", () => {
    const usage = fc.record({ model: fc.constantFrom("a", "b"), input: fc.nat(), output: fc.nat(), cached: fc.nat() });
    const entry = fc.oneof(fc.constant(human), usage.map(answer), fc.constant(answer()));
    const property = fc.property(fc.array(entry), (rest) => {
      const outline = [human, ...rest];
      const { rounds, total } = usageOfRounds({ outline, base: 0, end: outline.length }, []);
      const inputs = [...rounds.values()].reduce((sum, { input }) => sum + input, 0);
      expect(inputs).toBe(total?.input ?? 0);
    });
    fc.assert(property);
  });
});
