/**
 * How many random inputs a property is tried with: the count, times PROPERTY_RUNS (half by default). Each run draws
 * other inputs, so that many short runs find what one long one would.
 */
export function propertyRuns(count: number): number {
  return Math.ceil(count * Number(process.env["PROPERTY_RUNS"] ?? 0.5));
}
