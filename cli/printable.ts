/**
 * Text that a terminal shows and does not obey: control characters, and those that nobody sees or that change the
 * direction of what follows, become escapes such as `\u001b`, which JSON and code read too. Joiners, which emoji are
 * made of, stay. A line feed becomes `⏎`, unless `lines` keeps it.
 */
export function printable(text: string, { lines = false }: { readonly lines?: boolean } = {}): string {
  return text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === "\n") {
      return lines ? character : "⏎";
    }
    const units = character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return character === "\t" ? " " : units.join("");
  });
}
