import { ratioOf, type Measured, type Ratio } from "../measure/statistics.js";
import type { Case, Table, Target } from "./section.js";

/** Milliseconds as one reads them. */
export function time(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) {
    return "–";
  }
  if (milliseconds >= 1000) {
    return `${digits(milliseconds / 1000)} s`;
  }
  return milliseconds >= 1 ? `${digits(milliseconds)} ms` : `${digits(milliseconds * 1000)} µs`;
}

/** Three digits, thousands set apart. */
export function digits(value: number): string {
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** A whole number, thousands set apart. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `12.3 × (11.0–13.1)`. */
export function times({ value, low, high }: Ratio): string {
  return `${digits(value)} × (${digits(low)}–${digits(high)})`;
}

/** One line a case: median and p99 of each contender, and each other contender's time over the first's. */
export function comparisonTable(title: string, cases: readonly Case[]): Table {
  const names = [...new Set(cases.flatMap(({ measured }) => measured.map(({ contender }) => contender)))];
  const others = names.slice(1);
  const rows = cases.map(({ name, measured }) => {
    const of = (contender: string) => measured.find((one) => one.contender === contender);
    const first = of(names[0]!);
    const cells = names.map((contender) => medianAndTail(of(contender)));
    const ratios = others.map((contender) => (of(contender) && first ? times(ratioOf(of(contender)!, first)) : "–"));
    return [name, ...cells, ...ratios];
  });
  return { title, head: ["", ...names, ...others.map((name) => `${name} / ${names[0]}`)], rows };
}

/** A target of the form "at least so many times", on the smallest of several ratios. */
export function atLeast(what: string, wanted: number, ratio: number): Target {
  return { what, wanted: `≥ ${wanted} ×`, got: `${digits(ratio)} ×`, holds: ratio >= wanted };
}

/** A target of the form "at most so many times". */
export function atMost(what: string, wanted: number, ratio: number): Target {
  return { what, wanted: `≤ ${wanted} ×`, got: `${digits(ratio)} ×`, holds: ratio <= wanted };
}

function medianAndTail(measured: Measured | undefined): string {
  return measured === undefined ? "–" : `${time(measured.median)} (p99 ${time(measured.p99)})`;
}
