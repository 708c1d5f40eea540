/** Fields of `ids` from which on new marks share fields; up to there each has a field of its own. */
export const mostOwnMarks = 32;

/** Bytes of a shared field from which on it is divided. */
export const longestSharedMarks = 800;

/** How often a shared field can be divided. */
export const mostMarkDigits = 6;

/** The fields of `ids` that can hold the mark of a turn: its own, and the shared ones. */
export function markFields(name: string): string[] {
  const digits = Array.from(name.slice(0, mostMarkDigits), (letter) => letter.charCodeAt(0) % 8).join("");
  return [name, ...Array.from({ length: mostMarkDigits + 1 }, (_, count) => sharedField(digits.slice(0, count)))];
}

/**
 * The shared field of `ids` that holds the marks of turns whose names begin with these digits: 14 characters, as all
 * fields of `ids` have.
 */
function sharedField(digits: string): string {
  return `[turns:${digits.padEnd(mostMarkDigits, ".")}]`;
}

/** The mark, as {@link markFields} were found to hold it: in the form that a field of its own has. */
export function markAmong(name: string, [own, ...shared]: readonly (string | null | undefined)[]): string | undefined {
  const text = shared.find((each) => each !== "/") ?? "";
  const from = text.indexOf(`${name}:`);
  const [, kind, count, first] = /^([Tt])(\d+)@(\d+) /.exec(from < 0 ? "" : text.slice(from + name.length + 1)) ?? [];
  return own ?? (kind === undefined ? undefined : kind + count!.padStart(7, "0") + first!);
}
