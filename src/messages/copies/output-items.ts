import { type Fields, isRecord, stringIn } from "../values.js";
import { argumentsText } from "./call-copies.js";
import { changesFor } from "./call-places.js";
import { changedBy, type Edits, mapSame, type NewCallFields, withFields } from "./edits.js";
import { editText, editTexts } from "./texts.js";
import { editThought, thoughtIn } from "./thoughts.js";

/** The raw output of OpenAI's Responses API after an edit. */
export interface EditedOutput {
  readonly items: readonly Fields[];
  /** Texts of the thoughts that went. */
  readonly lostThoughts: ReadonlySet<string>;
  /** Ids of the items that went, or lost their id. */
  readonly lostIds: ReadonlySet<unknown>;
}

/** The items of `response_metadata.output`, which ChatOpenAI sends as they are; undefined if it is something else. */
export function outputItems(output: unknown): readonly Fields[] | undefined {
  const isTyped = (item: unknown) => isRecord(item) && typeof item["type"] === "string";
  return Array.isArray(output) && output.length > 0 && output.every(isTyped) ? (output as Fields[]) : undefined;
}

const callTypes = new Set<unknown>(["function_call", "custom_tool_call", "computer_call"]);

/** True for an item that is a call of the message. */
export function isCallItem({ type }: Fields): boolean {
  return callTypes.has(type);
}

/** Items that must keep their place without an id: the message itself, and calls that results answer. */
function standsAlone(item: Fields): boolean {
  return item["type"] === "message" || isCallItem(item) || typeof item["call_id"] === "string";
}

/** An item before and after the edit; undefined if it goes. */
interface EditedItem {
  readonly before: Fields;
  readonly after: Fields | undefined;
}

/** The output with each item changed. */
export function editOutput(items: readonly Fields[], edits: Edits): EditedOutput {
  const edited = editItems(items, edits);
  const isSame = edited.every(({ before, after }) => before === after);
  const kept = isSame ? items : groupsOf(edited).flatMap(keepGroup);
  const left = new Map(kept.map((item) => [item["id"], item]));
  const gone = items.filter(({ id }) => id !== undefined && !left.has(id));
  return {
    items: kept,
    lostThoughts: new Set(gone.flatMap((item) => thoughtIn(item)?.text ?? [])),
    lostIds: new Set(gone.map(({ id }) => id)),
  };
}

function editItems(items: readonly Fields[], { calls, pieces, thoughts }: Edits): readonly EditedItem[] {
  const called = items.filter(isCallItem);
  const copies = called.map((item) => ({ id: stringIn(item["call_id"]), name: stringIn(item["name"]) }));
  const changes = new Map(
    calls === undefined ? [] : changesFor(copies, calls).map((change, index) => [called[index]!, change]),
  );
  const said = items.filter(({ type, content }) => type === "message" && Array.isArray(content));
  const contents = said.map(({ content }) => content as readonly unknown[]);
  const texts = pieces === undefined ? contents : editTexts(contents, pieces);
  return items.map((item) => {
    const thought = thoughtIn(item);
    if (thought !== undefined) {
      return { before: item, after: thoughts === undefined ? item : editThought(thought, thoughts) };
    }
    if (changes.has(item)) {
      return { before: item, after: changedBy(changes.get(item), item, editCallItem) };
    }
    const place = said.indexOf(item);
    return { before: item, after: place < 0 ? item : withContent(item, texts[place]!, pieces) };
  });
}

/** The message item with its parts; it goes if the edit leaves none. A refusal is a text of its own. */
function withContent(item: Fields, content: readonly unknown[], pieces: Edits["pieces"]): Fields | undefined {
  const parts = mapSame(content, (part) => {
    if (pieces === undefined || !isRecord(part) || typeof part["refusal"] !== "string") {
      return [part];
    }
    const refusal = editText(part["refusal"], pieces);
    return refusal === undefined ? [] : [withFields(part, { refusal })];
  });
  return parts.length === 0 && parts !== item["content"] ? undefined : withFields(item, { content: parts });
}

function editCallItem(item: Fields, { id, name, args }: NewCallFields): Fields {
  return withFields(item, {
    ...(id !== undefined && { call_id: id }),
    ...(name !== undefined && "name" in item && { name }),
    ...(args !== undefined && argumentsOf(item, args)),
  });
}

function argumentsOf({ type }: Fields, args: Record<string, unknown> | string): Fields {
  if (type === "custom_tool_call") {
    const input = typeof args === "string" ? args : args["input"];
    return { input: typeof input === "string" ? input : argumentsText(args) };
  }
  if (type === "computer_call") {
    return typeof args === "string" ? {} : args;
  }
  return { arguments: argumentsText(args) };
}

/** A thought, if there is one, and the items that follow it: the provider takes them together or not at all. */
interface ItemGroup {
  readonly thought: EditedItem | undefined;
  readonly followers: readonly EditedItem[];
}

function groupsOf(items: readonly EditedItem[]): readonly ItemGroup[] {
  const groups: { thought: EditedItem | undefined; followers: EditedItem[] }[] = [];
  for (const item of items) {
    if (thoughtIn(item.before) !== undefined) {
      groups.push({ thought: item, followers: [] });
    } else if (groups.length === 0) {
      groups.push({ thought: undefined, followers: [item] });
    } else {
      groups.at(-1)!.followers.push(item);
    }
  }
  return groups;
}

/** A group whose thought goes loses its ids, and the server's own steps; one that loses all followers its thought. */
function keepGroup({ thought, followers }: ItemGroup): readonly Fields[] {
  const kept = followers.map(({ after }) => after).filter((item) => item !== undefined);
  if (thought === undefined) {
    return kept;
  }
  if (thought.after === undefined) {
    return kept.filter(standsAlone).map((item) => withFields(item, { id: undefined }));
  }
  return kept.length === 0 && followers.length > 0 ? [] : [thought.after, ...kept];
}
