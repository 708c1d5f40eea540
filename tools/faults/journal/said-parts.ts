import { tokenText } from "./runs.js";

const words = 12;

/** The parts in which the answer of a turn is said, one after the other; together they are its text. */
export function partsOf(turn: string): string[] {
  return [tokenText({ turn, index: 1 }), ...Array.from({ length: words }, (_, word) => ` ${word}`), "."];
}

/** The whole text of that answer. */
export function wholeAnswer(turn: string): string {
  return partsOf(turn).join("");
}

/** True for what is said of the answer up to the end of some part. */
export function isBeginning(turn: string, said: string): boolean {
  let text = "";
  return said === "" || partsOf(turn).some((part) => (text += part) === said);
}
