/** A point of a curve: what one gets, and what it costs. */
export interface Bargain {
  readonly gain: number;
  readonly cost: number;
}

/**
 * How far each point lies below the straight line between the first and the last, where both axes go from 0 to 1: the
 * largest is the knee, from where on the cost grows faster than what one gets for it.
 */
export function bends(points: readonly Bargain[]): number[] {
  const [first, last] = [points[0]!, points.at(-1)!];
  const part = (value: number, from: number, to: number) => (to === from ? 0 : (value - from) / (to - from));
  return points.map(({ gain, cost }) => part(gain, first.gain, last.gain) - part(cost, first.cost, last.cost));
}

/** The first and the last index whose bend is within this share of the largest: a knee is round. */
export function kneeOf(bent: readonly number[], within = 0.05): readonly [number, number] {
  const wanted = (1 - within) * Math.max(...bent);
  return [bent.findIndex((bend) => bend >= wanted), bent.findLastIndex((bend) => bend >= wanted)];
}
