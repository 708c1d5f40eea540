import { join } from "node:path";
import { readTree } from "../support/source-tree.js";

const root = join(__dirname, "..", "..");
const rooms = ["src", "cli", "testing", "tools/testkit", "tools/faults"];
/** Openings that hide the noun which a comment is about: "What a write did" for "The outcome of a write". */
const evasive = /^\s*(?:\/\*\*|\*|\/\/|---?)\s+(?:What|Of|Where|Those that|All that|Whoever)\b/;
/** The same openings of a later sentence in the line, but for conditions, which begin with "Where". */
const evasiveLater = /^\s*(?:\/\*\*|\*|\/\/|--).*[.;:] (?:What|Of|Those that|All that|Whoever)\b/;

/** The lines of a text whose comment begins with one of these words; a line that goes on from the one above is none. */
function evasiveLines(text: string): string[] {
  const lines = text.split("\n");
  return lines.filter(
    (line, index) => evasiveLater.test(line) || (evasive.test(line) && !continues(lines[index - 1] ?? "")),
  );
}

/** True for a line of a comment whose sentence goes on in the next line. */
function continues(line: string): boolean {
  return /^\s*(?:\*|\/\/|--)\s+\S/.test(line) && !/[.:!?)`]$/.test(line.trim());
}

describe("a comment", () => {
  it("names its subject in its first words", () => {
    const found = rooms.flatMap((room) =>
      readTree(join(root, room))
        .map(({ path, text }) => ({ path: `${room}/${path}`, text }))
        .filter(({ path }) => /\.(?:tsx?|mjs|lua)$/.test(path))
        .flatMap(({ path, text }) => evasiveLines(text).map((line) => `${path}: ${line.trim()}`)),
    );
    expect(found).toEqual([]);
  });

  it("is found by its opening, in each kind of comment", () => {
    const comments = [
      "/** What a write did. */",
      " * Of a turn, the rest.",
      "  // Where it fails.",
      "-- All that is left.",
      " * Reads a turn. What it wrote is left out.",
    ];
    comments.forEach((comment) => expect(evasiveLines(comment)).toEqual([comment]));
    expect(evasiveLines("/** The outcome. */\n * a sentence that goes on with\n * What it said")).toEqual([]);
  });
});
