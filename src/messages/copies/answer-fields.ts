import type { AIMessage } from "@langchain/core/messages";
import { type Fields, fieldsOf, isRecord, recordsIn, without, valueIn } from "../values.js";
import { editCallLists, editIdMap, editRawCalls, editRawFunction, editSignatures } from "./call-copies.js";
import { changesFor } from "./call-places.js";
import { type ChangedCalls, type Edits, mapSame, type PiecesEdit, type Thought, withFields } from "./edits.js";
import { type EditedOutput, editOutput, outputItems } from "./output-items.js";
import { editText, editTexts } from "./texts.js";
import { editReasoningText, editThought, signatureKey, thoughtIn } from "./thoughts.js";

/** Key of Google's adapter for thought signatures by call id. */
export const signaturesKey = "__gemini_function_call_thought_signatures__";

/** Keys of OpenAI's adapter for the ids of items by call id. */
export const itemIdKeys = ["__openai_function_call_ids__", "__openai_custom_tool_call_ids__"] as const;

/** The edit of an answer's raw copies, and the edits for its other copies. */
export interface RawEdit {
  /** The edit, which also leaves out the thoughts that went with their group in the raw copies. */
  readonly edits: Edits;
  readonly output: EditedOutput | undefined;
  readonly isOwnLost: boolean;
}

/** Edits the raw output first: what goes there with its group goes everywhere. */
export function editRaw(message: AIMessage, given: Edits): RawEdit {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  const output = items && editOutput(items, given);
  const own = thoughtIn(fieldsOf(message.additional_kwargs)["reasoning"]);
  const isOwnLost = own !== undefined && isLost(own, given, output);
  const lost = new Set([...(output?.lostThoughts ?? []), ...(isOwnLost ? [own.text] : [])]);
  const edits = lost.size === 0 ? given : { ...given, thoughts: alsoWithout(given, lost, output) };
  return { edits, output, isOwnLost };
}

/** The changed fields of an answer besides its content; `text` is its new text, if that changed. */
export function answerFields(message: AIMessage, raw: RawEdit, text: string | undefined): Fields {
  const kwargs = fieldsOf(message.additional_kwargs);
  const metadata = fieldsOf(message.response_metadata);
  const lostIds = raw.output?.lostIds ?? new Set();
  const items = raw.output?.items;
  const edited = editKwargs(kwargs, raw, lostIds);
  const isParsed = text !== undefined && "parsed" in edited;
  const additional_kwargs = isParsed ? withFields(edited, { parsed: valueIn(text) }) : edited;
  const response_metadata = withFields(metadata, {
    ...(items !== undefined && { output: items.length === 0 ? undefined : items }),
    ...(text !== undefined && { logprobs: undefined }),
  });
  return {
    ...callFields(message, raw.edits),
    ...(additional_kwargs !== kwargs && { additional_kwargs }),
    ...(response_metadata !== metadata && { response_metadata }),
  };
}

function isLost(thought: Thought, edits: Edits, output: EditedOutput | undefined): boolean {
  return (
    output?.lostIds.has(thought.block["id"]) === true ||
    (edits.thoughts !== undefined && editThought(thought, edits.thoughts) === undefined)
  );
}

/** An edit of thoughts that leaves out those that the raw output lost: by id, or those of the same text without one. */
function alsoWithout(
  { thoughts }: Edits,
  lost: ReadonlySet<string>,
  output: EditedOutput | undefined,
): NonNullable<Edits["thoughts"]> {
  return (thought) => {
    const { id } = thought.block;
    const isGone = id === undefined ? !thought.isSigned && lost.has(thought.text) : output?.lostIds.has(id) === true;
    return isGone ? undefined : thoughts === undefined ? thought.text : thoughts(thought);
  };
}

function callFields(message: AIMessage, { calls, dropsSignatures }: Edits): Fields {
  const valid = recordsIn(message.tool_calls) as unknown as readonly Fields[];
  const invalid = recordsIn(message.invalid_tool_calls) as unknown as readonly Fields[];
  const edited = calls === undefined ? { valid, invalid } : editCallLists({ valid, invalid }, calls);
  const isEdited = edited.valid !== valid || edited.invalid !== invalid;
  const unsigned = dropsSignatures ? mapSame(edited.valid, (call) => [without(call, signatureKey)]) : edited.valid;
  const { tool_call_chunks: chunks } = message as { tool_call_chunks?: readonly unknown[] };
  return {
    ...(unsigned !== valid && { tool_calls: unsigned }),
    ...(edited.invalid !== invalid && { invalid_tool_calls: edited.invalid }),
    ...(isEdited && chunks !== undefined && chunks.length > 0 && { tool_call_chunks: [] }),
  };
}

function editKwargs(kwargs: Fields, { edits, isOwnLost }: RawEdit, lostIds: ReadonlySet<unknown>): Fields {
  let edited = withThoughts(kwargs, edits, isOwnLost);
  edited = withToolOutputs(edited, edits, lostIds);
  edited = edits.pieces === undefined ? edited : withTexts(edited, edits.pieces);
  edited = edits.calls === undefined ? edited : withCalls(edited, edits.calls);
  return edits.dropsSignatures ? without(edited, signaturesKey) : edited;
}

/** Without its thought an answer goes out without the ids of its items: the provider takes them together only. */
function withThoughts(kwargs: Fields, edits: Edits, isOwnLost: boolean): Fields {
  const text = kwargs["reasoning_content"];
  const told =
    typeof text === "string" && edits.thoughts !== undefined
      ? withFields(kwargs, { reasoning_content: editReasoningText(text, edits.thoughts) })
      : kwargs;
  if (isOwnLost) {
    return without(told, "reasoning", ...itemIdKeys);
  }
  const own = thoughtIn(kwargs["reasoning"]);
  return own === undefined || edits.thoughts === undefined
    ? told
    : withFields(told, { reasoning: editThought(own, edits.thoughts) });
}

function withToolOutputs(kwargs: Fields, edits: Edits, lostIds: ReadonlySet<unknown>): Fields {
  const items = outputItems(kwargs["tool_outputs"]);
  if (items === undefined) {
    return kwargs;
  }
  const left = mapSame(items, (item) => (lostIds.has(item["id"]) ? [] : [item]));
  const edited = editOutput(left, edits).items;
  return withFields(kwargs, { tool_outputs: edited.length === 0 ? undefined : edited });
}

function withTexts(kwargs: Fields, pieces: PiecesEdit): Fields {
  const { refusal, originalTextContentBlock: original, audio } = kwargs;
  return withFields(kwargs, {
    ...(typeof refusal === "string" && { refusal: editText(refusal, pieces) }),
    ...(isRecord(original) && { originalTextContentBlock: editTexts([[original]], pieces)[0]![0] }),
    ...(isRecord(audio) && { audio: withTranscript(audio, pieces) }),
  });
}

/** The audio with an edited transcript; if its words change, the recording and its id at the provider are removed. */
function withTranscript(audio: Fields, pieces: PiecesEdit): Fields {
  const { transcript } = audio;
  const changed = typeof transcript === "string" ? editText(transcript, pieces) : transcript;
  return changed === transcript ? audio : withFields(audio, { transcript: changed, data: undefined, id: undefined });
}

function withCalls(kwargs: Fields, calls: ChangedCalls): Fields {
  const { tool_calls: raw, function_call: called } = kwargs;
  const [change] = isRecord(called) ? changesFor([{ id: undefined, name: String(called["name"]) }], calls) : [];
  const maps = itemIdKeys.map((key) => [key, editIdMap(kwargs[key], calls)] as const);
  return withFields(kwargs, {
    ...(raw !== undefined && { tool_calls: editRawCalls(raw, calls) }),
    ...(isRecord(called) && change === "remove" && { function_call: undefined }),
    ...(isRecord(called) && typeof change === "object" && { function_call: editRawFunction(called, change) }),
    ...Object.fromEntries(maps),
    [signaturesKey]: editSignatures(kwargs[signaturesKey], calls),
  });
}
