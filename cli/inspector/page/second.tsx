import { secondOf } from "../model/figures-in-words.js";

/** A time to the second, in UTC, in one line. */
export function Second({ at }: { at: number }) {
  return <time dateTime={new Date(at).toISOString()}>{secondOf(at)}</time>;
}
