import { type Fields, isRecord, stringIn } from "../values.js";

/** The fields by which a copy is matched to its call. */
export interface CallCopy {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

/** Types of content blocks that repeat a call of their message, with the key that holds the arguments. */
const argumentKeys: ReadonlyMap<unknown, string> = new Map([
  ["tool_use", "input"],
  ["tool_call", "args"],
  ["tool_call_chunk", "args"],
  ["invalid_tool_call", "args"],
  ["input_json_delta", "input"],
  ["functionCall", "args"],
]);

/** True for a content block that repeats a call. */
export function isCallBlock(block: unknown): boolean {
  return isRecord(block) && argumentKeys.has(block["type"]);
}

/** The record in a block that holds a call's id, name and arguments, and the key of the arguments. */
export function callIn(block: Fields): { readonly call: Fields; readonly argumentsKey: string } {
  const inner = block["functionCall"];
  const argumentsKey = argumentKeys.get(block["type"]) ?? "args";
  return { call: block["type"] === "functionCall" && isRecord(inner) ? inner : block, argumentsKey };
}

/** Id and name of the call in a content block. */
export function copyIn(block: Fields): CallCopy {
  const { call } = callIn(block);
  return { id: stringIn(call["id"]), name: stringIn(call["name"]) };
}

/**
 * The place of the call that each copy repeats: by id, equal ids in order; copies without an id take the remaining
 * calls, of their own name first, in order. -1 if there is none.
 */
export function placesOf(copies: readonly CallCopy[], calls: readonly CallCopy[]): readonly number[] {
  const free = new Map<string, number[]>();
  calls.forEach(({ id }, place) => {
    if (id !== undefined) {
      free.set(id, [...(free.get(id) ?? []), place]);
    }
  });
  const places = copies.map(({ id }) => (id === undefined ? undefined : (free.get(id)?.shift() ?? -1)));
  const taken = new Set(places);
  return places.map((place, index) => {
    if (place !== undefined) {
      return place;
    }
    const found = remaining(calls, copies[index]!.name, taken);
    taken.add(found);
    return found;
  });
}

function remaining(
  calls: readonly CallCopy[],
  name: string | undefined,
  taken: ReadonlySet<number | undefined>,
): number {
  const isFree = (place: number) => !taken.has(place);
  const tests: ((call: CallCopy, place: number) => boolean)[] = [
    (call, place) => isFree(place) && call.name === name && call.id === undefined,
    (call, place) => isFree(place) && call.name === name,
    (_, place) => isFree(place),
  ];
  return tests.map((test) => calls.findIndex(test)).find((place) => place >= 0) ?? -1;
}
