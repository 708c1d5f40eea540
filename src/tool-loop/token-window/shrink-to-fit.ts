/** Replaces one piece with a smaller variant of it. */
export interface Move<V> {
  readonly piece: number;
  readonly variant: V;
}

/** The whole pieces, and the moves that shrink them in the order in which they are tried. */
export interface ShrinkRequest<V> {
  readonly whole: readonly V[];
  readonly moves: Iterable<Move<V>>;
  readonly tokensOf: (variant: V) => Promise<number>;
}

/** The variant of each piece that is shown, and their total tokens. */
export interface Shrunk<V> {
  readonly shown: V[];
  readonly tokens: number;
}

/**
 * Makes moves until the pieces take at most `budget` tokens, or no move is left. Skips a move that would not make its
 * piece smaller, so nothing ever grows. Neither moves nor sizes depend on the budget, so a smaller budget never shows
 * more.
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
