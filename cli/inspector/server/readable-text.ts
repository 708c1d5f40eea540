import { printable } from "../../printable.js";
import { valueIn } from "../../../src/conversation/messages/message.js";

/** Text as a page shows it: control characters and those that change directions become escapes; lines and tabs stay. */
export function readableText(text: string): string {
  return text
    .split("\t")
    .map((part) => printable(part, { lines: true }))
    .join("\t");
}

/** The first characters of a text, as a page shows them, with the length of all of it. Never parts a character. */
export function cutText(
  text: string,
  { from = 0, limit }: { readonly from?: number; readonly limit: number },
): { readonly text: string; readonly length: number; readonly end: number } {
  const end = isInside(text, from + limit) ? from + limit - 1 : Math.min(text.length, from + limit);
  return { text: readableText(text.slice(from, end)), length: text.length, end };
}

/** True between the two halves of a character. */
function isInside(text: string, index: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(index - 1, index + 1));
}

/** Characters of a text that is laid out; a longer one stays as it is. */
const longest = 200_000;
/** Levels that are told apart by their indent. */
const deepest = 40;

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[{]\s*[\]}]|[[\]{},:]|\s+/g;

/**
 * A JSON object or list with a line for each value; undefined for any other text. Numbers and strings stay as they are
 * written, also those that JavaScript cannot hold.
 */
export function indentedJson(text: string): string | undefined {
  if (text.length > longest || !/^\s*[[{]/.test(text) || valueIn(text) === undefined) {
    return undefined;
  }
  let depth = 0;
  const line = (change: number) => `\n${"  ".repeat(Math.min((depth += change), deepest))}`;
  return text.replace(tokens, (token) => {
    switch (token) {
      case "{":
      case "[":
        return token + line(1);
      case "}":
      case "]":
        return line(-1) + token;
      case ",":
        return token + line(0);
      case ":":
        return ": ";
      default:
        return token.startsWith('"') ? token : token.replace(/\s+/g, "");
    }
  });
}
