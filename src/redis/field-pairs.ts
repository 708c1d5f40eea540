/** Fields and their values, from a list in which each field stands in front of its value, as HGETALL replies. */
export function fieldPairs(list: readonly string[]): Map<string, string> {
  return new Map(list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]!]] : [])));
}
