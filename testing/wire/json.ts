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

/** The marks for a prompt cache in parts of a request, in their order: Anthropic's fields, Bedrock's blocks. */
export function cacheMarks(value: unknown): readonly Fields[] {
  if (Array.isArray(value)) {
    return value.flatMap(cacheMarks);
  }
  const { cache_control: carried, cachePoint, content, toolResult } = fieldsIn(value);
  const own = [carried, cachePoint].filter(isObject) as Fields[];
  return [...cacheMarks(content ?? []), ...(toolResult === undefined ? [] : cacheMarks(toolResult)), ...own];
}

/** The place of the first mark for an hour behind one for five minutes; -1 if there is none. */
export function lateHour(marks: readonly Fields[]): number {
  const short = marks.findIndex(({ ttl }) => ttl !== "1h");
  return short < 0 ? -1 : marks.findIndex(({ ttl }, index) => index > short && ttl === "1h");
}

/** The number of blocks of these types in content, and in the results of tools in it. */
export function countBlocks(content: unknown, types: readonly string[]): number {
  return listIn(content).reduce((count, block) => {
    const own = types.includes(String(block["type"])) ? 1 : 0;
    return count + own + (block["type"] === "tool_result" ? countBlocks(block["content"], types) : 0);
  }, 0);
}
