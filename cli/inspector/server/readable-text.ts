import { printable } from "../../printable.js";

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
