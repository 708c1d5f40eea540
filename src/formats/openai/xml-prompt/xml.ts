/** An element of a parsed text; `start` and `end` are the positions where its tags begin and end. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: XmlNode[];
  readonly start: number;
  end: number;
}

/** Text (entities resolved) or an element. */
export type XmlNode = string | XmlElement;

/**
 * Parses a text that may be XML; undefined if it is not well-formed. It may have several elements and text at the top
 * level.
 *
 * Linear in the text, also for hostile input, and without recursion. Understands comments, CDATA sections, processing
 * instructions (ignored), character references and XML's five predefined entities. Refuses a DOCTYPE, so that no entity
 * can be defined and expanded.
 */
export function parseXml(text: string): XmlNode[] | undefined {
  const root: XmlElement = { name: "", attributes: new Map(), children: [], start: 0, end: text.length };
  const stack = [root];
  let position = 0;
  while (position < text.length) {
    const open = text.indexOf("<", position);
    const end = open === -1 ? text.length : open;
    const plain = resolveEntities(text.slice(position, end));
    if (plain === undefined) {
      return undefined;
    }
    addText(stack.at(-1)!, plain);
    if (open === -1) {
      break;
    }
    const next = readMarkup(text, open, stack);
    if (next === undefined) {
      return undefined;
    }
    position = next;
  }
  return stack.length === 1 ? root.children : undefined;
}

/** Escapes text for an element's content. A carriage return becomes a reference: XML would read it as a line feed. */
export function escapeText(text: string): string {
  return text.replace(/[&<>\r]/g, (character) => references.get(character)!);
}

/** Escapes text for an attribute value in double quotes. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>\r\n\t"]/g, (character) => references.get(character)!);
}

/**
 * True for text with characters that XML 1.0 cannot express: most control characters, U+FFFE, U+FFFF, lone surrogates.
 */
export function hasIllegalCharacters(text: string): boolean {
  return /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF\p{Cs}]/u.test(text);
}

const references: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["\r", "&#13;"],
  ["\n", "&#10;"],
  ["\t", "&#9;"],
]);
const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

const tagStart = /<([\p{L}_:][\p{L}\p{N}_:.-]*)/uy;
const attribute = /\s+([\p{L}_:][\p{L}\p{N}_:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/uy;
const tagEnd = /\s*(\/?)>/y;
const closingTag = /<\/([\p{L}_:][\p{L}\p{N}_:.-]*)\s*>/uy;

/** Reads the markup that begins with the `<` at `open`; returns the position after it, undefined if not well-formed. */
function readMarkup(text: string, open: number, stack: XmlElement[]): number | undefined {
  if (text.startsWith("<!--", open)) {
    return after(text, "-->", open + 4);
  }
  if (text.startsWith("<?", open)) {
    return after(text, "?>", open + 2);
  }
  if (text.startsWith("<![CDATA[", open)) {
    const end = after(text, "]]>", open + 9);
    addText(stack.at(-1)!, end === undefined ? "" : text.slice(open + 9, end - 3));
    return end;
  }
  return text.startsWith("</", open) ? closeElement(text, open, stack) : openElement(text, open, stack);
}

function openElement(text: string, open: number, stack: XmlElement[]): number | undefined {
  const start = match(tagStart, text, open);
  if (start === undefined) {
    return undefined;
  }
  const attributes = new Map<string, string>();
  let position = tagStart.lastIndex;
  for (let found = match(attribute, text, position); found !== undefined; found = match(attribute, text, position)) {
    const value = resolveEntities(found[2] ?? found[3] ?? "");
    if (value === undefined || attributes.has(found[1]!)) {
      return undefined;
    }
    attributes.set(found[1]!, value);
    position = attribute.lastIndex;
  }
  const end = match(tagEnd, text, position);
  if (end === undefined) {
    return undefined;
  }
  const element: XmlElement = { name: start[1]!, attributes, children: [], start: open, end: tagEnd.lastIndex };
  stack.at(-1)!.children.push(element);
  if (end[1] === "") {
    stack.push(element);
  }
  return element.end;
}

function closeElement(text: string, open: number, stack: XmlElement[]): number | undefined {
  const closing = match(closingTag, text, open);
  if (closing === undefined || stack.length === 1 || stack.at(-1)!.name !== closing[1]) {
    return undefined;
  }
  stack.pop()!.end = closingTag.lastIndex;
  return closingTag.lastIndex;
}

function match(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

function after(text: string, end: string, from: number): number | undefined {
  const found = text.indexOf(end, from);
  return found === -1 ? undefined : found + end.length;
}

function addText(element: XmlElement, text: string): void {
  if (text !== "") {
    element.children.push(text);
  }
}

function resolveEntities(text: string): string | undefined {
  if (!text.includes("&")) {
    return text;
  }
  let wellFormed = true;
  const resolved = text.replace(
    /&(?:#([0-9]{1,7});|#x([0-9a-fA-F]{1,6});|([a-z]{2,4});)?/g,
    (_, decimal?: string, hexadecimal?: string, name?: string) => {
      const code =
        decimal !== undefined ? Number(decimal) : hexadecimal !== undefined ? parseInt(hexadecimal, 16) : undefined;
      const character = code === undefined ? entities.get(name ?? "") : characterOf(code);
      wellFormed &&= character !== undefined;
      return character ?? "";
    },
  );
  return wellFormed ? resolved : undefined;
}

function characterOf(code: number): string | undefined {
  if (code > 0x10ffff) {
    return undefined;
  }
  const character = String.fromCodePoint(code);
  return hasIllegalCharacters(character) ? undefined : character;
}
