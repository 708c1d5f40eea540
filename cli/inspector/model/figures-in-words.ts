/** A whole number with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A number with what it counts, `noun` in the singular. */
export function counted(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A time to the second, in UTC. */
export function secondOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
}

/** A size of the view, such as `42 messages (8,120 tokens)`. */
export function sizeOf({ messages, tokens }: { readonly messages: number; readonly tokens?: number }): string {
  return `${counted(messages, "message")}${tokens === undefined ? "" : ` (${counted(tokens, "token")})`}`;
}
