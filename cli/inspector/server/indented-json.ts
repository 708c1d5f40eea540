import { valueIn } from "../../../src/conversation/messages/message.js";

/** Characters of a text that is laid out; a longer one stays as it is. */
const longest = 200_000;
/** Levels that are told apart by their indent. */
const deepest = 40;

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[{]\s*[\]}]|[[\]{},:]|\s+/g;

/**
 * A JSON object or list with a line for each value; undefined for any other text. Numbers and strings stay as they are
 * written, also those that JavaScript cannot hold.
 */
export function indentedJson(text: string): string | undefined {
  if (text.length > longest || !/^\s*[[{]/.test(text) || valueIn(text) === undefined) {
    return undefined;
  }
  let depth = 0;
  const line = (change: number) => `\n${"  ".repeat(Math.min((depth += change), deepest))}`;
  return text.replace(tokens, (token) => {
    switch (token) {
      case "{":
      case "[":
        return token + line(1);
      case "}":
      case "]":
        return line(-1) + token;
      case ",":
        return token + line(0);
      case ":":
        return ": ";
      default:
        return token.startsWith('"') ? token : token.replace(/\s+/g, "");
    }
  });
}
