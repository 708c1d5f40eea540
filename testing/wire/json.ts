/** An object of parsed JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value if it is an object, else an object without fields. */
export function fieldsIn(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The elements of a list that are objects, each with its index; none if the value is no list. */
export function listIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsIn) : [];
}

/** The value if it is text. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** True for text that is empty or white space. */
export function isBlank(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

/** True for an object that is no list. */
export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The paths of texts and keys that hold half of a surrogate pair, which no provider reads in JSON. */
export function halfPairs(value: unknown, path = ""): readonly string[] {
  if (typeof value === "string") {
    return value.isWellFormed() ? [] : [path];
  }
  const entries = typeof value === "object" && value !== null ? Object.entries(value as Fields) : [];
  return entries.flatMap(([key, own]) => {
    const place = path === "" ? key : `${path}.${key}`;
    return key.isWellFormed() ? halfPairs(own, place) : [place.toWellFormed()];
  });
}
