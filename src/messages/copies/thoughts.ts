import { isRecord, stringIn, type Fields } from "../values.js";
import { mapSame, type Thought, type ThoughtEdit, withFields } from "./edits.js";

/** Google's key of a signature, on a thought, on a call and on a block that repeats a call. */
export const signatureKey = "thoughtSignature";

/** The thought in a block of content or an item of a response; undefined if it is something else. */
export function thoughtIn(block: unknown): Thought | undefined {
  if (!isRecord(block)) {
    return undefined;
  }
  switch (block["type"]) {
    case "thinking":
      return { text: thinkingText(block["thinking"]), isSigned: isProof(block["signature"]), block };
    case "redacted_thinking":
      return { text: "", isSigned: isProof(block["data"]), block };
    case "reasoning":
      return { text: reasoningText(block), isSigned: isSignedReasoning(block), block };
    case "reasoning_content":
      return inBedrock(block);
    case "text":
      return block["thought"] === true
        ? { text: stringIn(block["text"]) ?? "", isSigned: isProof(block[signatureKey]), block }
        : undefined;
    case "non_standard": {
      const inner = thoughtIn(block["value"]);
      return inner && { ...inner, block };
    }
    default:
      return undefined;
  }
}

/** True for a block of content that holds a thought, in any form. */
export function isThought(block: unknown): boolean {
  return thoughtIn(block) !== undefined;
}

function inBedrock(block: Fields): Thought {
  const { reasoningText: told, redactedContent } = block;
  const { text, signature } = isRecord(told) ? told : {};
  return { text: stringIn(text) ?? "", isSigned: isProof(signature) || redactedContent !== undefined, block };
}

function isProof(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isSignedReasoning({ signature, encrypted_content, id }: Fields): boolean {
  return isProof(signature) || isProof(encrypted_content) || isReasoningId(id);
}

/** True for the id of a reasoning item that OpenAI keeps. */
export function isReasoningId(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("rs_");
}

/** Mistral's thinking is a list of text blocks. */
function thinkingText(thinking: unknown): string {
  return Array.isArray(thinking) ? textOfList(thinking) : (stringIn(thinking) ?? "");
}

function reasoningText({ reasoning, summary, content }: Fields): string {
  if (typeof reasoning === "string") {
    return reasoning;
  }
  return [summary, content].map((list) => (Array.isArray(list) ? textOfList(list) : "")).join("");
}

function textOfList(list: readonly unknown[]): string {
  return list.map((part) => (isRecord(part) ? (stringIn(part["text"]) ?? "") : "")).join("");
}

/**
 * A list of blocks with its thoughts changed. A signed thought whose text changes goes, and so do the signed ones
 * behind it: each is signed for a place behind the ones before it.
 */
export function editThoughts(list: readonly unknown[], edit: ThoughtEdit): readonly unknown[] {
  let isBroken = false;
  return mapSame(withWholeThoughts(list, edit), (block) => {
    const thought = thoughtIn(block);
    if (thought === undefined) {
      return [block];
    }
    const changed = isBroken && isChained(block) ? undefined : editThought(thought, edit);
    isBroken ||= changed === undefined && isChained(block);
    return changed === undefined ? [] : [changed];
  });
}

/**
 * The list with each thought that a stream left in pieces in the first of its blocks, where the edit of the whole is
 * not that of the pieces: a pattern may span them. Signed blocks are whole thoughts.
 */
function withWholeThoughts(list: readonly unknown[], edit: ThoughtEdit): readonly unknown[] {
  const blocks: unknown[] = [];
  for (let place = 0; place < list.length;) {
    const pieces = piecesAt(list, place);
    const [first] = pieces;
    const text = pieces.map((piece) => piece.text).join("");
    const isWhole = pieces.length < 2 || isEditedByPiece(pieces, { ...first!, text }, edit);
    const length = Math.max(pieces.length, 1);
    blocks.push(...(isWhole ? list.slice(place, place + length) : [withThought(first!.block, text)]));
    place += length;
  }
  return blocks.length === list.length ? list : blocks;
}

/** The unsigned thoughts of one form that stand side by side from a place on. */
function piecesAt(list: readonly unknown[], place: number): readonly Thought[] {
  const pieces: Thought[] = [];
  let next = thoughtIn(list[place]);
  while (next?.isSigned === false && next.block["type"] === (pieces[0] ?? next).block["type"]) {
    pieces.push(next);
    next = thoughtIn(list[place + pieces.length]);
  }
  return pieces;
}

function isEditedByPiece(pieces: readonly Thought[], whole: Thought, edit: ThoughtEdit): boolean {
  const made = edit(whole);
  const texts = pieces.map((piece) => edit(piece));
  // An edit that leaves out one of the pieces chooses by their blocks, which are not those of the whole.
  return made === whole.text || texts.includes(undefined) || texts.join("") === (made ?? "");
}

/** True for a block that holds a signed thought. */
export function isSignedThought(block: unknown): boolean {
  return thoughtIn(block)?.isSigned === true;
}

/** True for Claude's signed thoughts; OpenAI's items are signed one by one. */
function isChained(block: unknown): boolean {
  const { isSigned, block: own } = thoughtIn(block)!;
  return isSigned && own["encrypted_content"] === undefined && !isReasoningId(own["id"]);
}

/** The block or item with the changed thought; undefined if it goes. */
export function editThought(thought: Thought, edit: ThoughtEdit): Fields | undefined {
  const text = edit(thought);
  if (text === thought.text) {
    return thought.block;
  }
  return text === undefined || thought.isSigned ? undefined : withThought(thought.block, text);
}

function withThought(block: Fields, text: string): Fields {
  switch (block["type"]) {
    case "thinking":
      return withFields(block, { thinking: Array.isArray(block["thinking"]) ? [{ type: "text", text }] : text });
    case "reasoning_content":
      return withFields(block, { reasoningText: { ...(block["reasoningText"] as object), text } });
    case "text":
      return withFields(block, { text });
    case "non_standard":
      return withFields(block, { value: withThought(block["value"] as Fields, text) });
    default:
      return withReasoning(block, text);
  }
}

/** A `reasoning` block; Google's standard content repeats the text in a block inside it. */
function withReasoning(block: Fields, text: string): Fields {
  const inner = block["reasoningContentBlock"];
  const repeated = isRecord(inner) && typeof inner["text"] === "string" ? { ...inner, text } : inner;
  if (typeof block["reasoning"] === "string") {
    return withFields(block, { reasoning: text, ...(inner === undefined ? {} : { reasoningContentBlock: repeated }) });
  }
  return withFields(block, { summary: [{ type: "summary_text", text }], content: undefined });
}

/** The text of reasoning that stands alone, as in `additional_kwargs.reasoning_content`; undefined if it goes. */
export function editReasoningText(text: string, edit: ThoughtEdit): string | undefined {
  return edit({ text, isSigned: false, block: { type: "reasoning", reasoning: text } });
}
