import { jsonText } from "../../base/json-text.js";
import { type Fields, isRecord, stringIn } from "../values.js";
import { callIn, changesFor, copyIn, isCallBlock } from "./call-places.js";
import {
  type CallChange,
  type ChangedCalls,
  changedBy,
  mapSame,
  sameElements,
  type NewCallFields,
  withFields,
} from "./edits.js";
import { signatureKey } from "./thoughts.js";

/** Arguments as the text in which providers' raw calls hold them. */
export function argumentsText(args: Record<string, unknown> | string): string {
  return typeof args === "string" ? args : (jsonText(args) ?? "{}");
}

/** The calls of a message, those that can be read and those that cannot. */
export interface CallLists {
  readonly valid: readonly Fields[];
  readonly invalid: readonly Fields[];
}

/** `tool_calls` and `invalid_tool_calls` with each call changed. */
export function editCallLists({ valid, invalid }: CallLists, { changes }: ChangedCalls): CallLists {
  const changed = [...valid, ...invalid].map((call, place) => ({
    call,
    place,
    made: changedBy(changes[place], call, editCall),
  }));
  const isReadable = (place: number) => {
    const args = argumentsOf(changes[place]);
    return args === undefined ? place < valid.length : typeof args !== "string";
  };
  const kept = movedSignatures(changed.map(({ call, made }) => ({ before: call, after: made })));
  const lists = { valid: [] as Fields[], invalid: [] as Fields[] };
  changed.forEach(({ place }, index) => {
    const call = kept[index];
    if (call !== undefined) {
      lists[isReadable(place) ? "valid" : "invalid"].push(call);
    }
  });
  return {
    valid: sameElements(valid, lists.valid) ? valid : lists.valid,
    invalid: sameElements(invalid, lists.invalid) ? invalid : lists.invalid,
  };
}

function argumentsOf(change: CallChange): Record<string, unknown> | string | undefined {
  return typeof change === "object" ? change.args : undefined;
}

/** A call of a list. OpenAI's custom tools repeat their input; the error of an unreadable call quotes its arguments. */
function editCall(call: Fields, change: NewCallFields): Fields {
  const { args } = change;
  const changed = withFields(call, { ...change });
  if (args === undefined || changed === call) {
    return changed;
  }
  if (typeof args === "string") {
    const error = "error" in call ? { error: "The arguments are not valid JSON." } : {};
    return withFields(changed, { ...error, type: "invalid_tool_call" });
  }
  const input = typeof call["input"] === "string" && typeof args["input"] === "string" ? { input: args["input"] } : {};
  return withFields(changed, { ...input, error: undefined, type: "tool_call" });
}

interface ChangedCopy {
  readonly before: Fields;
  readonly after: Fields | undefined;
}

/** The signature of a removed call goes to the next one that has none: Gemini signs the first call of a step. */
function movedSignatures(copies: readonly ChangedCopy[]): readonly (Fields | undefined)[] {
  let moving: unknown;
  return copies.map(({ before, after }) => {
    if (after === undefined) {
      moving = before[signatureKey] ?? moving;
      return undefined;
    }
    if (moving === undefined || after[signatureKey] !== undefined) {
      return after;
    }
    const signed = withFields(after, { [signatureKey]: moving });
    moving = undefined;
    return signed;
  });
}

/** The call blocks of content, changed. */
export function editCallBlocks(blocks: readonly unknown[], edit: ChangedCalls): readonly unknown[] {
  const own = blocks.filter(isCallBlock) as Fields[];
  if (own.length === 0) {
    return blocks;
  }
  const changes = changesFor(own.map(copyIn), edit);
  const made = movedSignatures(
    own.map((block, index) => ({ before: block, after: changedBy(changes[index], block, editBlock) })),
  );
  let place = 0;
  return mapSame(blocks, (block) => {
    if (!isCallBlock(block)) {
      return [block];
    }
    const changed = made[place++];
    return changed === undefined ? [] : [changed];
  });
}

function editBlock(block: Fields, { args, id, name }: NewCallFields): Fields {
  const { call, argumentsKey } = callIn(block);
  // A block without an id or a name stays so: its adapter tells its call by the order.
  const named = withFields(call, {
    ...(id !== undefined && call["id"] !== undefined && { id }),
    ...(name !== undefined && call["name"] !== undefined && { name }),
    ...(args !== undefined && argumentsKey in call && { [argumentsKey]: args }),
  });
  if (call !== block) {
    return withFields(block, { functionCall: named });
  }
  const isRead = isRecord(args) && block["type"] === "invalid_tool_call";
  return isRead ? withFields(named, { type: "tool_call", error: undefined }) : named;
}

/** The raw calls of chat completions; undefined if none is left. */
export function editRawCalls(raw: unknown, edit: ChangedCalls): unknown {
  if (!Array.isArray(raw)) {
    return raw;
  }
  const list = raw.filter(isRecord) as Fields[];
  const changes = changesFor(list.map(rawCopy), edit);
  const changed = mapSame(list, (call, index) => {
    const made = changedBy(changes[index], call, editRawCall);
    return made === undefined ? [] : [made];
  });
  if (changed === list) {
    return raw;
  }
  return changed.length === 0 ? undefined : changed;
}

function rawCopy({ id, function: called }: Fields) {
  return { id: stringIn(id), name: isRecord(called) ? stringIn(called["name"]) : undefined };
}

function editRawCall(call: Fields, change: NewCallFields): Fields {
  const { id } = change;
  const called = isRecord(call["function"]) ? { function: editRawFunction(call["function"], change) } : {};
  return withFields(call, { ...called, ...(id !== undefined && { id }) });
}

/** A function with its arguments as text: part of a raw call, or the only call of the oldest API. */
export function editRawFunction(called: Fields, { name, args }: NewCallFields): Fields {
  return withFields(called, {
    ...(name !== undefined && { name }),
    ...(args !== undefined && { arguments: argumentsText(args) }),
  });
}

/** A map by call id, with its keys renamed and those of removed calls dropped. */
export function editIdMap(map: unknown, { calls, changes }: ChangedCalls): unknown {
  if (!isRecord(map)) {
    return map;
  }
  const byId = new Map(calls.map(({ id }, place) => [id, changes[place]]));
  let isSame = true;
  const entries = Object.entries(map).flatMap(([id, value]) => {
    const change = byId.get(id);
    if (change === "remove") {
      isSame = false;
      return [];
    }
    const renamed = change?.id ?? id;
    isSame &&= renamed === id;
    return [[renamed, value] as const];
  });
  return isSame ? map : Object.fromEntries(entries);
}

/** Google's signatures by call id: a removed call's goes to the next call that has none. */
export function editSignatures(map: unknown, edit: ChangedCalls): unknown {
  if (!isRecord(map)) {
    return map;
  }
  const { calls, changes } = edit;
  const copies = calls.map(({ id }, place) => ({
    before: { [signatureKey]: id === undefined ? undefined : map[id] },
    after: changes[place] === "remove" ? undefined : { [signatureKey]: id === undefined ? undefined : map[id] },
  }));
  const moved = movedSignatures(copies);
  const changed = editIdMap(map, edit) as Fields;
  const own = calls.flatMap(({ id }, place) => {
    const change = changes[place];
    const key = typeof change === "object" ? (change.id ?? id) : id;
    const signature = moved[place]?.[signatureKey];
    return key === undefined || signature === undefined ? [] : [[key, signature] as const];
  });
  return withFields(changed, Object.fromEntries(own));
}
