import { InvalidArgumentError } from "commander";

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

/** One of several words, as an option's value. */
export function oneOf<Word extends string>(words: readonly Word[]): (value: string) => Word {
  return (value) => {
    const word = words.find((known) => known === value);
    if (word === undefined) {
      throw new InvalidArgumentError(`It must be one of ${words.join(", ")}.`);
    }
    return word;
  };
}
