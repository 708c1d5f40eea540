/** The place of a message in its turn: which turn, and the index in it. Every text begins with it. */
export interface Token {
  readonly turn: string;
  readonly index: number;
}

const tokens = /\[([\w.]+)-(\d+)\]/g;

/** The beginning of a message's text. */
export function tokenText({ turn, index }: Token): string {
  return `[${turn}-${index}]`;
}

/** All tokens in a text, in order. */
export function tokensIn(text: string): Token[] {
  return [...text.matchAll(tokens)].map(([, turn, index]) => ({ turn: turn!, index: Number(index) }));
}

/** Writes tokens as text; messages of a turn that follow each other take one word: `1.0.17:0-3`. */
export function writeRuns(all: readonly Token[]): string {
  const words: string[] = [];
  for (let at = 0; at < all.length;) {
    const { turn, index } = all[at]!;
    let length = 1;
    while (all[at + length]?.turn === turn && all[at + length]!.index === index + length) {
      length += 1;
    }
    words.push(`${turn}:${index}-${index + length - 1}`);
    at += length;
  }
  return words.join(" ");
}

/** Reads what {@link writeRuns} wrote. */
export function readRuns(text: string): Token[] {
  return text === ""
    ? []
    : text.split(" ").flatMap((word) => {
        const [turn = "", range = ""] = word.split(":");
        const [first = 0, last = 0] = range.split("-").map(Number);
        return Array.from({ length: last - first + 1 }, (_, offset) => ({ turn, index: first + offset }));
      });
}
