/** The reader that an input is for, by its first byte, and the text for it. */
export function readerOf(data: Buffer, names: readonly string[]): { readonly name: string; readonly text: string } {
  const name = names[(data[0] ?? 0) % names.length]!;
  return { name, text: data.toString("utf8", 1) };
}

/** The input by which a reader gets a text. */
export function inputFor(name: string, text: string, names: readonly string[]): Buffer {
  return Buffer.concat([Buffer.from([names.indexOf(name)]), Buffer.from(text)]);
}
