/**
 * Text that a terminal shows and does not obey: control characters, and those that change the direction of what
 * follows, become escapes such as `\u001b`. A line feed becomes `⏎`, unless `lines` keeps it.
 */
export function printable(text: string, { lines = false }: { readonly lines?: boolean } = {}): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu, (character) => {
    if (character === "\n") {
      return lines ? character : "⏎";
    }
    return character === "\t" ? " " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
