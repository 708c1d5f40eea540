/** Replaces what is shown of one piece by a smaller variant of it. */
export interface Move<V> {
  readonly piece: number;
  readonly variant: V;
}

/** What to fit: each piece whole, and the moves in the order in which they are made. */
export interface ShrinkRequest<V> {
  readonly whole: readonly V[];
  readonly moves: Iterable<Move<V>>;
  readonly tokensOf: (variant: V) => Promise<number>;
}

/** What is shown of each piece, and the tokens of all together. */
export interface Shrunk<V> {
  readonly shown: V[];
  readonly tokens: number;
}

/**
 * Makes moves until the pieces take no more than `budget` tokens, or no move is left. A move that would not make its
 * piece smaller is passed over, so nothing ever grows. Since neither moves nor sizes depend on the budget, a smaller
 * one never leaves more.
 */
export async function shrinkToFit<V>({ whole, moves, tokensOf }: ShrinkRequest<V>, budget: number): Promise<Shrunk<V>> {
  const shown = [...whole];
  const sizes: number[] = [];
  for (const variant of whole) {
    sizes.push(await tokensOf(variant));
  }
  let tokens = sizes.reduce((sum, size) => sum + size, 0);
  if (tokens <= budget) {
    return { shown, tokens };
  }
  for (const { piece, variant } of moves) {
    const size = await tokensOf(variant);
    if (size >= sizes[piece]!) {
      continue;
    }
    tokens -= sizes[piece]! - size;
    sizes[piece] = size;
    shown[piece] = variant;
    if (tokens <= budget) {
      break;
    }
  }
  return { shown, tokens };
}
