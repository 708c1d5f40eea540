import { InvalidArgumentError } from "commander";
import { UsageError } from "./failure.js";
import { isLabel } from "../src/store/redis/item-records.js";

/** A whole number of at least 1, as an option's value. */
export function positiveOperand(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) {
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  }
  return Number(value);
}

/** The values of an option that may be given several times. */
export function collected(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Namespaces of long-term memory such as `users.ann`, as the values of an option that may be given several times. */
export function namespaceOperand(value: string, before: readonly string[][] = []): string[][] {
  const labels = value.split(".");
  if (!labels.every(isLabel)) {
    throw new InvalidArgumentError("It must be labels joined by periods, such as users.ann.");
  }
  return [...before, labels];
}

/** Help for the option `--namespace`. */
export const namespaceHelp = "with --owner: a namespace of long-term memory that holds their items, such as users.ann";

/** Refuses namespaces of nobody. @throws UsageError */
export function refuseNamespace(
  command: string,
  { owner, namespace }: { readonly owner?: string; readonly namespace?: unknown },
): void {
  if (namespace !== undefined && owner === undefined) {
    throw new UsageError(`${command}: --namespace needs --owner.`);
  }
}

/** One of several words, as an option's value. */
export function oneOf<Word extends string>(words: readonly Word[]): (value: string) => Word {
  return (value) => {
    const word = words.find((each) => each === value);
    if (word === undefined) {
      throw new InvalidArgumentError(`It must be one of ${words.join(", ")}.`);
    }
    return word;
  };
}

const unitMs = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time span such as `30d`, in milliseconds, as an option's value. */
export function spanOperand(value: string): number {
  const [, count, unit] = /^(\d{1,9})(s|min|h|d)$/.exec(value) ?? [];
  if (count === undefined) {
    throw new InvalidArgumentError("It must be a number with s, min, h or d, such as 30d.");
  }
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}

/** A size such as `500kB` or `2MB`, in bytes, as an option's value. */
export function sizeOperand(value: string): number {
  const [, count, unit] = /^(\d{1,9})(B|kB|MB|GB)$/.exec(value) ?? [];
  if (count === undefined) {
    throw new InvalidArgumentError("It must be a number with B, kB, MB or GB, such as 500kB.");
  }
  return Number(count) * 1_000 ** ["B", "kB", "MB", "GB"].indexOf(unit!);
}
