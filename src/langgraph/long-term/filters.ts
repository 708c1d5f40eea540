/** Filter operators. The ordering ones convert both operands to numbers, as LangGraph's stores do. */
const comparisons: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: (value, wanted) => value === wanted,
  $ne: (value, wanted) => value !== wanted,
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.includes(value),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.includes(value),
};

/** True if the value satisfies the filter. A test compares it with LangGraph's `InMemoryStore`. */
export function matchesFilter(
  value: Readonly<Record<string, unknown>>,
  filter: Readonly<Record<string, unknown>> | undefined,
): boolean {
  return Object.entries(filter ?? {}).every(([field, wanted]) => matches(value[field], wanted));
}

function matches(value: unknown, wanted: unknown): boolean {
  if (typeof wanted === "object" && wanted !== null) {
    const operators = Object.entries(wanted);
    if (operators.every(([name]) => Object.hasOwn(comparisons, name))) {
      return operators.every(([name, operand]) => comparisons[name]!(value, operand));
    }
  }
  return value === wanted;
}
