import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { signaturesKey } from "../../messages/copies/answer-fields.js";
import { callIn, copyIn, isCallBlock, placesOf } from "../../messages/copies/call-places.js";
import { sameElements, withFields } from "../../messages/copies/edits.js";
import { isThought, signatureKey, thoughtIn } from "../../messages/copies/thoughts.js";
import { type Call, callsOf } from "../../messages/calls.js";
import { type Block, blocksOf } from "../../messages/content.js";
import { type Fields, fieldsOf, isRecord, recordsIn, stringIn } from "../../messages/values.js";
import type { AnswerForm } from "./adapter.js";
import { blockList, formedContent, isText, plainBlock, unmarked, withForm, withoutForgottenCalls } from "./blocks.js";
import { mediaBlock, mediaIn } from "../../messages/media.js";
import { mayComeFrom } from "./origin.js";
import { orRefusal, plainAnswer } from "./plain.js";

const ownOrigins = ["google", "google-genai"] as const;
const stepTypes = new Set<string>(["executableCode", "codeExecutionResult"]);

/** Google's documented value in place of a signature, for calls that Gemini did not make. */
export const uncheckedSignature = "skip_thought_signature_validator";

/** True if the model may ask for signatures of calls: Gemini from 3 on. */
function asksForSignatures(model: string | undefined): boolean {
  return model === undefined || !/gemini-(?:1|2)\b/.test(model);
}

/** Generate content, through ChatGoogle, which reads calls as `functionCall` blocks of the content only. */
export const googleAnswer: AnswerForm = (message, { model }) => {
  const isOwn = mayComeFrom(message, ownOrigins);
  const base = isOwn ? ownContent(message) : foreignContent(message);
  const blocks = withCallBlocks(base, message);
  const signed = asksForSignatures(model) ? signedBlocks(blocks) : blocks;
  const isSame = Array.isArray(message.content) && sameElements(signed, message.content);
  const hasCalls = signed.some(isCallBlock);
  const content = isSame ? message.content : hasCalls ? [...signed] : base.content;
  return withForm(base, { content });
};

/** Texts and calls of another provider's answer; `functionCall` blocks are such as this form gave it. */
function foreignContent(message: BaseMessage): BaseMessage {
  const content = formedContent(message.content, (block) =>
    block.type === "functionCall" || isText(block) ? [block] : plainBlock(block),
  );
  return plainAnswer(message, orRefusal(message, content));
}

/** An answer of Google's in the form of ChatGoogle; calls stay where they are. */
function ownContent(message: BaseMessage): BaseMessage {
  const content = formedContent(message.content, (block) => {
    if (isCallBlock(block) || isText(block) || stepTypes.has(block.type)) {
      return [block];
    }
    if (block.type === "non_standard" && isRecord(block["value"])) {
      return [block["value"] as Block];
    }
    return isThought(block) ? [thoughtPart(block)] : mediaPart(block);
  });
  return withForm(withoutForgottenCalls(message), { content, response_metadata: unmarked(message) });
}

function thoughtPart(block: Block): Block {
  if (block.type === "text") {
    return block;
  }
  const signature = stringIn(block["signature"]) ?? stringIn(block[signatureKey]);
  const { text } = thoughtIn(block)!;
  return { type: "text", text, thought: true, ...(signature !== undefined && { [signatureKey]: signature }) } as Block;
}

function mediaPart(block: Block): readonly Block[] {
  const media = mediaIn(block);
  const formed = block.type === "media" ? block : media && mediaBlock(media);
  const signature = block[signatureKey];
  return formed === undefined
    ? plainBlock(block)
    : [formed === block || signature === undefined ? formed : ({ ...formed, [signatureKey]: signature } as Block)];
}

/** Beginning of ids that ChatGoogle makes up for calls without one; it does not send them. */
const madeUpId = "lc-tool-call-";

/** The blocks with one `functionCall` for each call of the answer, where its own block stands or at the end. */
function withCallBlocks(formed: BaseMessage, message: BaseMessage): readonly Block[] {
  const given = typeof formed.content === "string" ? blocksOf(formed) : blockList(formed);
  const calls = callsOf(message).filter(({ readable }) => readable);
  const own = given.filter(isCallBlock) as unknown as readonly Fields[];
  const places = placesOf(own.map(copyIn), calls);
  const lists = recordsIn((message as AIMessage).tool_calls) as readonly Fields[];
  const signatures = fieldsOf(fieldsOf(message.additional_kwargs)[signaturesKey]);
  const signatureOf = (place: number) =>
    stringIn(lists[place]?.[signatureKey]) ?? stringIn(signatures[calls[place]!.id ?? ""]);
  const made = new Set<number>();
  const kept = given.flatMap((block): readonly Block[] => {
    const index = own.indexOf(block as Fields);
    const place = places[index] ?? -1;
    if (index < 0 || place < 0 || made.has(place)) {
      return index < 0 ? [block] : [];
    }
    made.add(place);
    return [callBlock(block, calls[place]!, signatureOf(place))];
  });
  const missing = calls.flatMap((call, place) =>
    made.has(place) ? [] : [callBlock(undefined, call, signatureOf(place))],
  );
  return [...kept, ...missing];
}

/** The block of a call, with the id under which ChatGoogle sends its result. */
function callBlock(block: Block | undefined, call: Call, signature: string | undefined): Block {
  const isMadeUp = call.id === undefined || call.id.startsWith(madeUpId);
  const id = isMadeUp ? undefined : call.id;
  if (block?.type === "functionCall") {
    const inner = callIn(block as Fields).call;
    const same = withFields(inner, { name: call.name, ...(id !== undefined && { id }) });
    const signed = block[signatureKey] === undefined && signature !== undefined ? { [signatureKey]: signature } : {};
    return withFields(block as Fields, { functionCall: same, ...signed }) as Block;
  }
  const proof = stringIn(block?.[signatureKey]) ?? signature;
  return {
    ...(proof !== undefined && { [signatureKey]: proof }),
    type: "functionCall",
    functionCall: { ...(id !== undefined && { id }), name: call.name, args: call.args },
  } as unknown as Block;
}

/** Gemini signs the first call of a step. */
function signedBlocks(blocks: readonly Block[]): readonly Block[] {
  const first = blocks.findIndex(isCallBlock);
  return first < 0 || typeof blocks[first]![signatureKey] === "string"
    ? blocks
    : blocks.map((block, index) =>
        index === first ? ({ ...block, [signatureKey]: uncheckedSignature } as Block) : block,
      );
}

/**
 * Generate content, through ChatGoogleGenerativeAI: calls come from `tool_calls`, their signatures from
 * `additional_kwargs`, media as `media` blocks.
 */
export const googleGenaiAnswer: AnswerForm = (message, { model }) => {
  const isOwn = mayComeFrom(message, ownOrigins);
  const base = isOwn ? ownGenaiContent(message) : plainAnswer(message);
  return withSignatures(base, message, model);
};

function ownGenaiContent(message: BaseMessage): BaseMessage {
  const content = formedContent(message.content, (block): readonly Block[] => {
    const value = block.type === "non_standard" && isRecord(block["value"]) ? (block["value"] as Block) : block;
    if (isText(value) || stepTypes.has(value.type) || value.type === "thinking" || value.type === "functionCall") {
      return [value];
    }
    if (isThought(value)) {
      const { text } = thoughtIn(value)!;
      const signature = stringIn(value[signatureKey]);
      return [{ type: "thinking", thinking: text, ...(signature !== undefined && { signature }) } as Block];
    }
    const media = isCallBlock(value) ? undefined : mediaIn(value);
    return media?.data === undefined
      ? plainBlock(value)
      : [{ type: "media", mimeType: media.mimeType, data: media.data } as unknown as Block];
  });
  return withForm(withoutForgottenCalls(message), { content, response_metadata: unmarked(message) });
}

/** ChatGoogleGenerativeAI has a signature of its own for models of this name. */
const signsByItself = /gemini-3/;

function withSignatures(formed: BaseMessage, message: BaseMessage, model: string | undefined): BaseMessage {
  const calls = callsOf(message);
  if (calls.length === 0) {
    return formed;
  }
  const kwargs = fieldsOf(formed.additional_kwargs);
  const own = fieldsOf(kwargs[signaturesKey]);
  const found = Object.fromEntries(calls.flatMap(({ id }, place) => signatureEntry(message, id, place, own)));
  const [first] = calls;
  const isSigned = first!.id === undefined || own[first!.id] !== undefined || found[first!.id] !== undefined;
  const unsigned = isSigned || !asksForSignatures(model) || signsByItself.test(model ?? "");
  const added = { ...found, ...(!unsigned && { [first!.id!]: uncheckedSignature }) };
  return Object.keys(added).length === 0
    ? formed
    : withForm(formed, { additional_kwargs: { ...kwargs, [signaturesKey]: { ...own, ...added } } });
}

/** The signature of a call where ChatGoogle keeps it: on the call, or on its block. */
function signatureEntry(
  message: BaseMessage,
  id: string | undefined,
  place: number,
  own: Fields,
): readonly (readonly [string, string])[] {
  if (id === undefined || own[id] !== undefined || !mayComeFrom(message, ownOrigins)) {
    return [];
  }
  const call = (recordsIn((message as AIMessage).tool_calls) as readonly Fields[])[place];
  const blocks = blockList(message).filter(isCallBlock);
  const signature = stringIn(call?.[signatureKey]) ?? stringIn(blocks[place]?.[signatureKey]);
  return signature === undefined ? [] : [[id, signature]];
}
