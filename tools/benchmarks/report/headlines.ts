import { digits, time, whole } from "./format.js";
import type { Headline } from "./section.js";

/** Within this share two figures are the same: the machine wavers more from run to run. */
const same = 0.03;

/** One measured figure of ours and those of others, and what the others are where they are not the two peers. */
export interface Compared {
  readonly what: string;
  readonly ours: number;
  readonly others: readonly number[];
  readonly note?: string;
  readonly inReadme?: boolean;
}

/** A line on times, against the shortest of the others. */
export function timeHeadline(compared: Compared): Headline {
  const ratio = compared.ours / Math.min(...compared.others);
  const difference = ratio < 1 ? `${digits(1 / ratio)} × faster` : `${digits(ratio)} × as long`;
  return line(compared, { show: time, difference: isSame(ratio) ? "as fast" : difference });
}

/** A line on what is done in the same time, against the most that another does. */
export function rateHeadline(compared: Compared): Headline {
  const ratio = compared.ours / Math.max(...compared.others);
  return line(compared, { show: whole, difference: isSame(ratio) ? "as many" : `${digits(ratio)} × as many` });
}

/** A line on sizes in bytes, against the smallest of the others. */
export function sizeHeadline(compared: Compared): Headline {
  const ratio = compared.ours / Math.min(...compared.others);
  return line(compared, {
    show: (bytes) => `${digits(bytes)} B`,
    difference: isSame(ratio) ? "as much" : `${digits(ratio)} × as much`,
  });
}

/** A line on numbers of which few are good, against the smallest of the others. */
export function countHeadline(compared: Compared): Headline {
  const ratio = compared.ours / Math.min(...compared.others);
  const difference = `${whole(Math.abs(1 - ratio) * 100)} % ${ratio < 1 ? "fewer" : "more"}`;
  return line(compared, { show: whole, difference: isSame(ratio) ? "as many" : difference });
}

function isSame(ratio: number): boolean {
  return Math.abs(ratio - 1) <= same;
}

function line(
  { what, ours, others, note, inReadme }: Compared,
  { show, difference }: { readonly show: (value: number) => string; readonly difference: string },
): Headline {
  const shown = others.map(show).join(", ");
  return { what, inReadme, ours: show(ours), others: note === undefined ? shown : `${shown} (${note})`, difference };
}
