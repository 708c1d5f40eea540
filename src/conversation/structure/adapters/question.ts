import type { BaseMessage } from "@langchain/core/messages";
import { jsonText, sameAsJson } from "../../../base/json-text.js";
import { type Block, isResponsesText, isStandardContent, textBlock, blockList } from "../../messages/content.js";
import { mapSame, plainBlock } from "../../messages/copies/plain-answer.js";
import { type Fields, isRecord, stringIn, fieldsOf } from "../../messages/message.js";
import type { Adapter, RequestPlace } from "./adapter.js";
import { formedContent, withForm } from "./blocks.js";
import { audioPart, dataUrl, filePart, imageBlock, mediaBlock, mediaIn, mediaLeftOut } from "../../messages/media.js";
import type { Media } from "../../messages/media.js";

/** The media that an adapter takes from the user. */
interface TakenMedia {
  /** Types of blocks that are sent as they are; behind a slash the field that holds the data. */
  readonly asTheyAre: readonly string[];
  /** Those of them that are sent only with the data itself. */
  readonly withData?: readonly string[];
  /** Media of another form; undefined if the adapter or its provider takes none such. */
  readonly form: (media: Media) => object | "" | undefined;
}

const chat: TakenMedia = {
  asTheyAre: ["image_url", "input_audio", "image/source_type", "file/file"],
  form: (media) => imageBlock(media) ?? audioPart(media) ?? filePart(media),
};

/** For each adapter; undefined where it is not known. */
const taken: Readonly<Record<Adapter, TakenMedia | undefined>> = {
  "openai-chat": chat,
  deepseek: chat,
  "openai-responses": {
    asTheyAre: ["image_url", "input_image", "input_file"],
    form: (media) => imageBlock(media) ?? inputFile(media),
  },
  // ChatAnthropic 1.5 sends LangChain's `source_type` blocks twice.
  anthropic: {
    asTheyAre: ["image_url", "image/source", "document/source"],
    form: (media) => imageBlock(media) ?? documentBlock(media),
  },
  google: {
    asTheyAre: ["image_url", "media", ...standard("source_type")],
    form: (media) => mediaBlock(media) ?? linkBlock(media),
  },
  "google-genai": {
    asTheyAre: ["image_url", "media", ...standard("source_type"), ...standard("data"), "video/data"],
    withData: ["image_url"],
    form: (media) => linkBlock(media) ?? mediaBlock(media),
  },
  mistral: { asTheyAre: ["image_url"], form: imageBlock },
  bedrock: {
    asTheyAre: ["image_url", "image/image", "image/source_type", "document/document", "video/video", "video/data"],
    withData: ["image_url", "image/source_type", "video/data"],
    form: (media) => (media.data === undefined ? undefined : (imageBlock(media) ?? standardFile(media))),
  },
  neutral: undefined,
};

/** The older standard, with `source_type`, has no video. */
function standard(field: string): readonly string[] {
  return ["image", "audio", "file"].map((type) => `${type}/${field}`);
}

/**
 * A user's message whose texts and media have the form that the adapter sends; a note stands for media that it cannot
 * send. Adapters form the media of standard content themselves.
 */
export function questionForm(adapter: Adapter, message: BaseMessage, { documentNames }: RequestPlace): BaseMessage {
  const { content } = message as { content: unknown };
  const media = taken[adapter];
  if (media === undefined || !Array.isArray(content) || content.length === 0) {
    return message;
  }
  const isStandard = isStandardContent(message);
  const named = namedDocuments(documentNames);
  const formed = formedContent(content, (block) => {
    return isOtherText(adapter, block)
      ? plainBlock(block)
      : [named(block, isStandard ? block : mediaForm(media, block))];
  });
  return formed === content ? message : withForm(message, { content: blocksIn(formed) });
}

/** True for a text that not all adapters send: of OpenAI's Responses API, or a file of plain text. */
function isOtherText(adapter: Adapter, block: Block): boolean {
  const isOwn = adapter === "openai-responses" && block.type === "input_text";
  return !isOwn && (isResponsesText(block) || block.type === "text-plain") && stringIn(block["text"]) !== undefined;
}

/** Blocks of results that an adapter takes as they are, besides media; all where it is not listed. */
const resultBlocks: Readonly<Partial<Record<Adapter, readonly string[]>>> = {
  anthropic: ["text", "search_result", "tool_reference"],
  "google-genai": ["text"],
  neutral: ["text"],
};

/**
 * The result of a tool whose media have the form that the adapter sends; a note stands for media that it cannot send.
 * Records and blocks that it does not know go as JSON: adapters throw at them, or leave them out.
 */
export function resultForm(adapter: Adapter, message: BaseMessage, { documentNames }: RequestPlace): BaseMessage {
  const media = taken[adapter];
  const types = resultBlocks[adapter];
  const original = resultContent(message);
  const named = namedDocuments(documentNames);
  const content = formedContent(original, (block) => {
    const isKnown = types === undefined || types.includes(block.type);
    const formed = media ? mediaForm(media, block) : block;
    return [mediaIn(block) === undefined && !isKnown ? inWords(block) : named(block, formed)];
  });
  return content === message.content ? message : withForm(message, { content });
}

/** The content of a result, with JSON in the place of what is neither a text nor a block. */
export function resultContent({ content }: { readonly content: unknown }): unknown {
  if (!Array.isArray(content)) {
    return typeof content === "string" ? content : (jsonText(content) ?? "");
  }
  const isPart = (element: unknown) => typeof element === "string" || isRecord(element);
  return mapSame(content as readonly unknown[], (element) => [isPart(element) ? element : jsonBlock(element)]);
}

function jsonBlock(value: unknown): Block {
  return textBlock(jsonText(value) ?? "(content left out)");
}

/** The block as a text: the one that it says to every adapter, else its JSON. */
export function inWords(block: Block): Block {
  const [said] = (block as Fields)["type"] === undefined ? [] : plainBlock(block);
  return said ?? jsonBlock(block);
}

/** Content that was a list stays one. */
function blocksIn(content: unknown): unknown {
  return typeof content === "string" ? [textBlock(content)] : content;
}

function mediaForm({ asTheyAre, withData = [], form }: TakenMedia, block: Block): Block {
  const media = mediaIn(block);
  if (media === undefined) {
    return block;
  }
  const { type, cache_control } = block as Fields;
  const words = stringIn(media.text);
  const names = [type, `${String(type)}/${holderOf(block)}`] as readonly string[];
  const isGiven = media.data !== undefined || words !== undefined;
  if (names.some((name) => asTheyAre.includes(name) && (isGiven || !withData.includes(name)))) {
    return block;
  }
  const formed = form(media) || (words === undefined ? mediaLeftOut(media) : textBlock(words));
  const made = { ...formed, ...(cache_control !== undefined && { cache_control }) } as Block;
  return made.type === type && sameAsJson(made, block) ? block : made;
}

/** The field that tells where the data of a block is. */
function holderOf(block: Block): string {
  const { source_type: standardType, source } = block as Fields;
  return typeof standardType === "string"
    ? "source_type"
    : isRecord(source)
      ? "source"
      : isRecord(block[block.type])
        ? block.type
        : "data";
}

function inputFile({ kind, data, mimeType, fileId, url, name = "file" }: Media): object | undefined {
  if (kind !== "file" || (data ?? fileId ?? url) === undefined) {
    return undefined;
  }
  const where = fileId === undefined ? { file_url: url } : { file_id: fileId };
  return {
    type: "input_file",
    ...(data === undefined ? where : { file_data: dataUrl(data, mimeType), filename: name }),
  };
}

/** Claude takes PDFs, and from an address whatever is there. */
function documentBlock({ kind, data, mimeType = "application/pdf", url }: Media): object | undefined {
  if (kind !== "file" || (data !== undefined && mimeType !== "application/pdf")) {
    return undefined;
  }
  const source = data === undefined ? { type: "url", url } : { type: "base64", media_type: mimeType, data };
  return (data ?? url) === undefined ? undefined : { type: "document", source };
}

/** Google fetches what stands at an address. */
function linkBlock({ kind, url, mimeType }: Media): object | undefined {
  const named = mimeType === undefined ? {} : { mime_type: mimeType };
  return url === undefined || kind === "video" ? undefined : { type: kind, source_type: "url", url, ...named };
}

/** Types of documents that ChatBedrockConverse sends; it throws at others. */
const documentTypes: ReadonlySet<string> = new Set([
  ...["text/csv", "text/html", "text/markdown", "text/plain", "application/pdf", "application/msword"],
  "application/vnd.ms-excel",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
]);

function standardFile({ kind, data, mimeType = "application/pdf", name }: Media): object | undefined {
  return kind === "file" && documentTypes.has(mimeType)
    ? {
        type: "file",
        source_type: "base64",
        mime_type: mimeType,
        data,
        ...(name !== undefined && { metadata: { name } }),
      }
    : undefined;
}

/** Bedrock's bound for the name of a document, in characters. */
const maxLength = 200;

/** Stands between names, none of which holds it. */
const separator = "/";

/**
 * The names of each message's documents in a request to Bedrock, which takes each name once, whatever its case. They
 * are numbered from the front, so that later turns send earlier documents under the same names.
 */
export function documentNames(messages: readonly BaseMessage[]): ReadonlyMap<number, RequestPlace> {
  const taken = new Map<string, number>();
  return new Map(
    messages.flatMap((message, index) => {
      const names = blockList(message)
        .filter(isDocument)
        .map((block) => freeName(plainName(nameOf(block)), taken));
      return names.length === 0 ? [] : [[index, { documentNames: names.join(separator) }] as const];
    }),
  );
}

/** A function that gives the documents among blocks, in turn, the names that they have in their request. */
function namedDocuments(names: string | undefined): (block: Block, formed: Block) => Block {
  const left = names?.split(separator) ?? [];
  return (block, formed) => {
    const name = isDocument(block) ? left.shift() : undefined;
    return name === undefined ? formed : withName(formed, name);
  };
}

function isDocument(block: Block): boolean {
  return mediaIn(block)?.kind === "file";
}

function nameOf(block: Block): string {
  return stringIn(fieldsOf((block as Fields)["document"])["name"]) ?? mediaIn(block)?.name ?? "";
}

function withName(block: Block, name: string): Block {
  const { document, metadata } = block as Fields;
  if (block.type === "document" && isRecord(document)) {
    return document["name"] === name ? block : { ...block, document: { ...document, name } };
  }
  return (block.type as string) !== "file" || fieldsOf(metadata)["name"] === name
    ? block
    : { ...block, metadata: { ...fieldsOf(metadata), name } };
}

/** Amazon takes Latin letters, digits, single spaces, hyphens and brackets. Letters with accents lose these. */
function plainName(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9()[\]-]+/g, " ");
  return plain.trim().slice(0, maxLength).trimEnd() || "file";
}

function freeName(name: string, taken: Map<string, number>): string {
  const key = name.toLowerCase();
  let free = name;
  let count = taken.get(key) ?? 0;
  while (taken.has(free.toLowerCase())) {
    count += 1;
    const ending = ` ${count + 1}`;
    free = `${name.slice(0, maxLength - ending.length).trimEnd()}${ending}`;
  }
  taken.set(key, count);
  taken.set(free.toLowerCase(), taken.get(free.toLowerCase()) ?? 0);
  return free;
}
