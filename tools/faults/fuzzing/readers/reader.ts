import { RecordError } from "../../../../src/base/errors.js";

/** Reads a text that others may have written. Refuses it by an error of the package, or by `NoJson`. */
export type Reader = (text: string) => unknown;

/** Refuses an input that is not JSON, where parsing is not the reader's part. */
export class NoJson extends Error {}

/** The value in a text. @throws NoJson */
export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NoJson("no JSON");
  }
}

/** A list of a few items, each with the same text. */
export function itemOf(text: string): (position: number) => string {
  return (position) => {
    if (position > 4) {
      throw new RecordError("There is no such item.", { code: "corrupt" });
    }
    return text;
  };
}
