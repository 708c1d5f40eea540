import { Marked, type Token, type Tokens } from "marked";

/** The elements that stand for Markdown; nothing else is made of a text. */
export const markdownTags = [
  ...["p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "span", "bdi", "a"],
  ...["table", "thead", "tbody", "tr", "th", "td"],
] as const;

/** Attributes of these elements. */
export interface MarkdownAttributes {
  readonly class?: string;
  /** The number at which a list begins. */
  readonly start?: number;
  /** Links, which nothing but a click opens. */
  readonly href?: string;
  readonly target?: "_blank";
  readonly rel?: "noreferrer noopener";
}

/** A text, or an element and what it holds. */
export type MarkdownNode =
  | string
  | {
      readonly tag: (typeof markdownTags)[number];
      readonly attributes: MarkdownAttributes;
      readonly inside: readonly MarkdownNode[];
    };

/** Characters of a text that is laid out; a longer one is shown as it is. */
const longest = 20_000;
/** Elements inside each other. */
const deepest = 24;

const marked = new Marked({ gfm: true, breaks: true });

/**
 * A text laid out as Markdown; undefined where it is too long or too deep for that. HTML stands there as it was
 * written. Nothing of it loads anything: images are words, and links say where they lead.
 */
export function markdownOf(text: string): MarkdownNode[] | undefined {
  if (text.length > longest) {
    return undefined;
  }
  try {
    return nodesOf(marked.lexer(text), 0);
  } catch {
    // It overflows its stack on thousands of levels, which no reader needs.
    return undefined;
  }
}

function nodesOf(tokens: readonly Token[] | undefined, depth: number): MarkdownNode[] {
  return (tokens ?? []).flatMap((token) => (depth > deepest ? [token.raw] : nodeOf(token, depth + 1)));
}

function element(
  tag: (typeof markdownTags)[number],
  inside: readonly MarkdownNode[],
  attributes: MarkdownAttributes = {},
): MarkdownNode {
  return { tag, attributes, inside };
}

/** The element that stands for a token. One of a kind that is not known stands as it was written, as HTML does. */
function nodeOf(token: Token, depth: number): readonly MarkdownNode[] {
  const inside = () => nodesOf((token as Tokens.Generic).tokens, depth);
  switch (token.type) {
    case "space":
      return [];
    case "def":
      return [element("p", [token.raw])];
    case "br":
    case "hr":
      return [element(token.type, [])];
    case "paragraph":
      return [element("p", inside())];
    case "heading":
      return [element("p", inside(), { class: `heading-${(token as Tokens.Heading).depth}` })];
    case "blockquote":
      return [element("blockquote", inside())];
    case "strong":
    case "em":
    case "del":
      return [element(token.type, inside())];
    case "codespan":
      return [element("code", [(token as Tokens.Codespan).text])];
    case "code":
      return [element("pre", [element("code", [(token as Tokens.Code).text])])];
    case "list":
      return [listOf(token as Tokens.List, depth)];
    case "table":
      return [tableOf(token as Tokens.Table, depth)];
    case "link":
      return linkOf(token as Tokens.Link, inside());
    case "image":
      return [imageOf(token as Tokens.Image)];
    case "escape":
      return [(token as Tokens.Escape).text];
    case "text":
      return (token as Tokens.Text).tokens === undefined ? [(token as Tokens.Text).text] : inside();
    default:
      return [token.raw];
  }
}

function listOf({ ordered, start, items }: Tokens.List, depth: number): MarkdownNode {
  const inside = items.map(({ task, checked, tokens }) => {
    const box = task ? [checked === true ? "☑ " : "☐ "] : [];
    // In newer versions the box is a token, too.
    const rest = tokens.filter(({ type }) => type !== "checkbox");
    return element("li", [...box, ...nodesOf(rest, depth)]);
  });
  return ordered ? element("ol", inside, { start: Number(start) || 0 }) : element("ul", inside);
}

function tableOf({ header, rows }: Tokens.Table, depth: number): MarkdownNode {
  const cells = (tag: "th" | "td", row: readonly Tokens.TableCell[]) =>
    element(
      "tr",
      row.map(({ tokens }) => element(tag, nodesOf(tokens, depth))),
    );
  const body = rows.map((row) => cells("td", row));
  return element("table", [
    element("thead", [cells("th", header)]),
    ...(body.length > 0 ? [element("tbody", body)] : []),
  ]);
}

/** The words, and the address as a link: nobody has to guess where it leads. Other addresses than these are text. */
function linkOf({ raw, href, text }: Tokens.Link, words: readonly MarkdownNode[]): readonly MarkdownNode[] {
  if (!/^(?:https?:\/\/|mailto:)[^\s<>"'\\]+$/i.test(href)) {
    return [raw];
  }
  const link = element("a", [href], { href, target: "_blank", rel: "noreferrer noopener" });
  return text === href || text === "" ? [link] : [...words, " (", link, ")"];
}

function imageOf({ text, href }: Tokens.Image): MarkdownNode {
  return element("span", [`image: ${text} `, element("bdi", [href])], { class: "tag" });
}
