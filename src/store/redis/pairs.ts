/** Names and values from an alternating list, as HGETALL replies. */
export function pairsIn(list: readonly string[]): (readonly [name: string, value: string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!]);
}
