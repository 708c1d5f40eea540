import fc from "fast-check";
import { inspectCommand } from "../../cli/commands/inspect-command.js";
import type { AnswerUsage, OutlineEntry } from "../../cli/inspector/model/data.js";
import { factOf, type ModelFact, usageOfRounds } from "../../cli/inspector/model/facts-of-models.js";
import { usageWords } from "../../cli/inspector/model/figures-in-words.js";
import { jsonLevels, type JsonLine } from "../../cli/inspector/model/json-levels.js";
import { type MarkdownNode, markdownOf, markdownTags } from "../../cli/inspector/model/markdown.js";
import { indentedJson } from "../../cli/inspector/server/readable-text.js";
import { propertyRuns } from "../support/property-runs.js";

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

describe("JSON of a tool's answer", () => {
  it("is laid out as JSON.stringify does it, whatever stood between its values", () => {
    const property = fc.property(
      fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
      fc.constantFrom(undefined, 1, "\t"),
      (value, space) => {
        expect(indentedJson(JSON.stringify(value, undefined, space))).toBe(JSON.stringify(value, undefined, 2));
      },
    );
    fc.assert(property);
  });

  it("keeps numbers as they are written, and leaves other texts and very long ones alone", () => {
    expect(indentedJson('[12345678901234567890,1.10,1e999,"a, b: {\\"c"]')).toBe(
      '[\n  12345678901234567890,\n  1.10,\n  1e999,\n  "a, b: {\\"c"\n]',
    );
    const others = ["", "12", '"text"', "[not JSON]", "{a: 1}", `["${"x".repeat(200_000)}"]`];
    expect(others.map(indentedJson)).toEqual(others.map(() => undefined));
    const deep = "[".repeat(2_000) + "]".repeat(2_000);
    expect(indentedJson(deep)!.length).toBeLessThan(400_000);
  });
});

/** The lines again, with their indents. */
function written(lines: readonly JsonLine[], indent = ""): string[] {
  return lines.flatMap((line) =>
    line.kind === "value"
      ? [indent + line.text]
      : [
          indent + line.open,
          ...written(line.inside, `${indent}  `),
          ...(line.close === undefined ? [] : [indent + line.close]),
        ],
  );
}

/** How many lines stand inside the levels, as they say. */
function counted(lines: readonly JsonLine[]): number {
  return lines.reduce((sum, line) => sum + (line.kind === "value" ? 1 : line.lines + (line.close ? 2 : 1)), 0);
}

const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));

describe("levels of laid-out JSON", () => {
  it("hold every line once, in order and at its depth, also of the beginning of a text", () => {
    const property = fc.property(container, fc.nat(400), (value, cut) => {
      const text = JSON.stringify(value, undefined, 2);
      expect(written(jsonLevels(text)).join("\n")).toBe(text);
      const begun = text.slice(0, cut);
      const lines = begun.split("\n").map((line) => line.trim());
      expect(written(jsonLevels(begun)).map((line) => line.trim())).toEqual(lines);
      expect(counted(jsonLevels(begun))).toBe(lines.length);
    });
    fc.assert(property);
  });

  it("are made of a text of any depth", () => {
    const depth = 50_000;
    const deep = indentedJson("[".repeat(depth) + "]".repeat(depth))!;
    const [outermost, ...others] = jsonLevels(deep);
    expect(others).toEqual([]);
    expect(outermost).toMatchObject({ kind: "level", open: "[", close: "]", lines: deep.split("\n").length - 2 });
    const values = JSON.stringify(
      Array.from({ length: 20_000 }, (_, index) => index),
      undefined,
      2,
    );
    expect(jsonLevels(values)).toMatchObject([{ kind: "level", lines: 20_000 }]);
  });
});

/** All elements, with what they hold. */
function elementsIn(nodes: readonly MarkdownNode[]): Exclude<MarkdownNode, string>[] {
  return nodes.flatMap((node) => (typeof node === "string" ? [] : [node, ...elementsIn(node.inside)]));
}

function textOf(nodes: readonly MarkdownNode[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : textOf(node.inside))).join("");
}

const pieces = fc.constantFrom(
  ...["<script>", "<img src=x onerror=alert(1)>", "<a href='javascript:alert(1)'>", "</p>", "<svg/onload=x>", "<!--"],
  ...["[a](", "![a](", "javascript:alert(1)", "JaVaScRiPt&colon;x", "data:text/html,x", "https://a.example/", ")", "]"],
  ...[
    "[a]: ",
    "<https://b.example>",
    "\n",
    "\n\n",
    "    ",
    "> ",
    "- ",
    "1. ",
    "- [x] ",
    "# ",
    "```html\n",
    "`",
    "**",
    "_",
  ],
  ...["| a | b |\n|---|---|\n| c |", "~~", "\\", "&amp;", "&#x3c;script&#x3e;", "[^1]", "onclick=", "\u0000", "\u202e"],
);

const texts = fc.oneof(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 30 }).map((all) => all.join("")));

describe("Markdown of a message", () => {
  it("becomes nothing but known elements, whose only address is one of a link that says where it leads", () => {
    const property = fc.property(texts, (text) => {
      for (const { tag, attributes, inside } of elementsIn(markdownOf(text) ?? [])) {
        expect(markdownTags).toContain(tag);
        expect(["class", "start", "href", "target", "rel"]).toEqual(expect.arrayContaining(Object.keys(attributes)));
        expect("href" in attributes).toBe(tag === "a");
        if (tag === "a") {
          expect(attributes).toMatchObject({ target: "_blank", rel: "noreferrer noopener" });
          expect(attributes.href).toMatch(/^(https?:\/\/|mailto:)/i);
          expect(inside).toEqual([attributes.href]);
        }
        expect(attributes.class ?? "tag").toMatch(/^(tag|heading-[1-6])$/);
      }
    });
    fc.assert(property, { numRuns: propertyRuns(1_000) });
  });

  it("shows HTML, code and images as text, and addresses beside their words", () => {
    const shown = (text: string) => textOf(markdownOf(text)!);
    expect(shown("a <b onclick=x>c</b>")).toBe("a <b onclick=x>c</b>");
    expect(shown("<script>alert(1)</script>\n\nend")).toContain("<script>alert(1)</script>");
    expect(shown("![map](https://a.example/map.png)")).toBe("image: map https://a.example/map.png");
    expect(shown("see [the page](https://a.example/x)")).toBe("see the page (https://a.example/x)");
    expect(shown("[go](javascript:alert(1))")).toBe("[go](javascript:alert(1))");
    expect(shown("[go]: https://a.example")).toBe("[go]: https://a.example");
    expect(shown("- [x] done\n- [ ] left")).toBe("☑ done☐ left");
    expect(shown("```ts\nconst a = '<b>';\n```")).toBe("const a = '<b>';");
  });

  it("lays out lists, tables, headings and lines", () => {
    const tags = (text: string) => elementsIn(markdownOf(text)!).map(({ tag }) => tag);
    expect(tags("# one\ntwo\nthree")).toEqual(["p", "p", "br"]);
    expect(tags("| a |\n|---|\n| b |")).toEqual(["table", "thead", "tr", "th", "tbody", "tr", "td"]);
    expect(markdownOf("3. a\n4. **b**")).toMatchObject([{ tag: "ol", attributes: { start: 3 } }]);
    expect(tags("*a* ~~b~~ `c`")).toEqual(["p", "em", "del", "code"]);
  });

  it("leaves texts alone that are too long or too deep for it", () => {
    expect(markdownOf("a".repeat(20_001))).toBeUndefined();
    const deep = elementsIn(markdownOf(">".repeat(500)) ?? []);
    expect(deep.length).toBeLessThan(60);
    expect(() => markdownOf(">".repeat(20_000))).not.toThrow();
    expect(() => markdownOf("- ".repeat(10_000))).not.toThrow();
  });
});

function optionsOf(...args: readonly string[]): Record<string, unknown> {
  const { command } = inspectCommand();
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: "user" }).opts();
}

describe("options of inspect", () => {
  it("take windows and prices of models, each several times", () => {
    const args = ["--window", "gpt-x=128000", "--price", "gpt-x*=2/8.5", "--window", "a=b=9", "--price", "y=1/2/0.25"];
    expect(optionsOf(...args)).toMatchObject({
      window: [
        { name: "gpt-x", window: 128_000 },
        { name: "a=b", window: 9 },
      ],
      price: [
        { name: "gpt-x*", price: { input: 2, output: 8.5 } },
        { name: "y", price: { input: 1, output: 2, cached: 0.25 } },
      ],
    });
  });

  it.each([
    ["--window", "gpt-x"],
    ["--window", "gpt-x=0"],
    ["--window", "gpt-x=1.5"],
    ["--price", "gpt-x=2"],
    ["--price", "=2/8"],
    ["--price", "gpt-x=2/-8"],
    ["--port", "70000"],
  ])("refuse %s %s", (option, value) => {
    expect(() => optionsOf(option, value)).toThrow("It must be");
  });
});
