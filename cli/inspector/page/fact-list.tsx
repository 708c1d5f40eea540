/** A term and its value; a value that is undefined leaves the term out. */
export type Fact = readonly [term: string, value: string | undefined];

/** Facts as a list of terms and values. */
export function FactList({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.flatMap(([term, value]) =>
        value === undefined
          ? []
          : [
              <dt key={term}>{term}</dt>,
              <dd key={`${term} value`}>
                <bdi>{value}</bdi>
              </dd>,
            ],
      )}
    </dl>
  );
}
