import fc from "fast-check";
import { markdownOf, markdownTags, type MarkdownNode } from "../../cli/inspector/model/markdown.js";
import { propertyRuns } from "../support/property-runs.js";

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
