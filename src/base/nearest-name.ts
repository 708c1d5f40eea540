/**
 * Returns the name that was probably meant: the one with the fewest wrong, missing, surplus or swapped letters, if they
 * are at most a third of it. Upper and lower case count as the same letter.
 */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Infinity;
  for (const name of names) {
    const allowed = Math.max(1, Math.floor(name.length / 3));
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
