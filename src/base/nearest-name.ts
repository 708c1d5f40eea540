/**
 * Returns the name that was probably meant: that which {@link misspeltName} finds; else the only one that has all words
 * of what was written, in order (`inputKey` for `inputMessagesKey`).
 */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  return misspeltName(written, names) ?? onlyNameWithWords(written, names);
}

/**
 * Returns the name with the fewest wrong, missing, surplus or swapped letters, if they are at most a third of it, and
 * at most `most`. Upper and lower case count as the same letter.
 */
export function misspeltName<Name extends string>(
  written: string,
  names: readonly Name[],
  { most = Infinity }: { readonly most?: number } = {},
): Name | undefined {
  let nearest: Name | undefined;
  let fewest = Infinity;
  for (const name of names) {
    const allowed = Math.min(most, Math.max(1, Math.floor(name.length / 3)));
    // Also keeps a huge key from being compared letter by letter.
    if (Math.abs(name.length - written.length) > allowed) {
      continue;
    }
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance <= allowed && distance < fewest) {
      nearest = name;
      fewest = distance;
    }
  }
  return nearest;
}

const longestWritten = 80;

function onlyNameWithWords(written: string, names: readonly string[]): string | undefined {
  const wanted = written.length > longestWritten ? [] : wordsIn(written);
  const found = names.filter((name) => {
    let count = 0;
    for (const word of wordsIn(name)) {
      count += word === wanted[count] ? 1 : 0;
    }
    return count === wanted.length;
  });
  return wanted.length > 0 && found.length === 1 ? found[0] : undefined;
}

/** The words of a name in camel case. */
function wordsIn(name: string): string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase());
}

/** How many letters must be replaced, inserted, deleted or swapped with their neighbour to make one text the other. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const above = rows[row - 1]!;
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      let distance = Math.min(replaced, above[column]! + 1, line[column - 1]! + 1);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        distance = Math.min(distance, rows[row - 2]![column - 2]! + 1);
      }
      line.push(distance);
    }
    rows.push(line);
  }
  return rows[a.length]![b.length]!;
}
