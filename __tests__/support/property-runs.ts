import fc from "fast-check";

/**
 * How many random inputs a property is tried with: the count, times PROPERTY_RUNS (half by default). Each run draws
 * other inputs, so that many short runs find what one long one would.
 */
export function propertyRuns(count: number): number {
  return Math.ceil(count * Number(process.env["PROPERTY_RUNS"] ?? 0.5));
}

/** The count for `propertyRuns`, alone or with other parameters of fast-check. */
type Runs<Input> = number | (Omit<fc.Parameters<[Input]>, "numRuns"> & { readonly runs: number });

function parametersOf<Input>(given: Runs<Input>): fc.Parameters<[Input]> {
  const { runs, ...more } = typeof given === "number" ? { runs: given } : given;
  return { ...more, numRuns: propertyRuns(runs) };
}

/** Checks a promise with random inputs. */
export function forAll<Input>(
  runs: Runs<Input>,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => boolean | void,
): void {
  fc.assert(fc.property(inputs, check), parametersOf(runs));
}

/** The same with a check that takes its time. */
export async function forAllAsync<Input>(
  runs: Runs<Input>,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => Promise<boolean | void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(inputs, check), parametersOf(runs));
}
