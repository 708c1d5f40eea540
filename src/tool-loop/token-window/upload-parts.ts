import { HumanMessage, type BaseMessage, type ContentBlock } from "@langchain/core/messages";
import { textBlock } from "../../messages/content.js";
import { countOf } from "../../tokens/counted-messages.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { isImage, type Upload } from "../stored/uploads.js";
import { cutText, lengthsBelow } from "./cut-text.js";

/** A part of a message's content: text or an image. */
export type ContentPart = ContentBlock;

/** The variant of an upload that is shown. `left_out` shows a note, `hidden` nothing. */
export interface ShownUpload {
  readonly upload: Upload;
  readonly as: "whole" | "cut" | "left_out" | "hidden";
  /** Its parts, by themselves. */
  readonly message: BaseMessage;
}

const nothing = new HumanMessage({ content: [] });

/** Renders uploads within a budget; returns the same messages each time, so that they are counted once. */
export class UploadParts {
  readonly #counter: TokenCounter;
  readonly #whole = new WeakMap<Upload, ShownUpload>();
  readonly #smaller = new WeakMap<Upload, ShownUpload[]>();

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  /**
   * The uploads as they take at most `budget` tokens: the oldest are cut first, then replaced with a note; finally the
   * notes are dropped, too. Nothing grows, and a smaller budget never shows more.
   */
  async within(uploads: readonly Upload[], budget: number): Promise<ShownUpload[]> {
    const shown = uploads.map((upload) => known(this.#whole, upload, wholeUpload));
    const sizes: number[] = [];
    for (const { message } of shown) {
      sizes.push(await this.#tokensOf(message));
    }
    let tokens = sizes.reduce((sum, size) => sum + size, 0);
    for (const [place, smaller] of tokens <= budget ? [] : this.#moves(uploads)) {
      const size = await this.#tokensOf(smaller.message);
      if (size < sizes[place]!) {
        tokens -= sizes[place]! - size;
        [sizes[place], shown[place]] = [size, smaller];
      }
      if (tokens <= budget) {
        break;
      }
    }
    return shown;
  }

  *#moves(uploads: readonly Upload[]): Generator<readonly [place: number, smaller: ShownUpload]> {
    const moves = uploads.map((upload) => known(this.#smaller, upload, smallerUploads));
    for (const [place, variants] of moves.entries()) {
      yield* variants.slice(0, -1).map((variant) => [place, variant] as const);
    }
    yield* moves.map((variants, place) => [place, variants.at(-1)!] as const);
  }

  /** Tokens that its parts add to another message. */
  async #tokensOf(message: BaseMessage): Promise<number> {
    return Math.max(0, (await countOf(this.#counter, message)) - (await countOf(this.#counter, nothing)));
  }
}

function known<K extends object, V>(all: WeakMap<K, V>, key: K, make: (key: K) => V): V {
  const value = all.get(key) ?? make(key);
  all.set(key, value);
  return value;
}

function smallerUploads(upload: Upload): ShownUpload[] {
  const { text = "" } = upload;
  const cuts = lengthsBelow(text.length).map((characters): ShownUpload => {
    return shownAs(upload, "cut", [textBlock(`${titleOf(upload)}:\n${cutText(text, characters)}`)]);
  });
  const statement = `[${titleOf(upload)} omitted: it does not fit the context window.]`;
  return [...cuts, shownAs(upload, "left_out", [textBlock(statement)]), shownAs(upload, "hidden", [])];
}

function wholeUpload(upload: Upload): ShownUpload {
  return shownAs(upload, "whole", wholeParts(upload));
}

function shownAs(upload: Upload, as: ShownUpload["as"], content: readonly ContentPart[]): ShownUpload {
  return { upload, as, message: new HumanMessage({ content: [...content] }) };
}

function wholeParts(upload: Upload): readonly ContentPart[] {
  const { text, url } = upload;
  if (text !== undefined) {
    return [textBlock(`${titleOf(upload)}:\n${text}`)];
  }
  if (isImage(upload)) {
    return [textBlock(`${titleOf(upload)}:`), { type: "image_url", image_url: { url: url! } }];
  }
  return [textBlock(`[${titleOf(upload)}${url === undefined ? "" : ` at ${url}`}: content not shown.]`)];
}

function titleOf({ name, mimeType, isOfTool }: Upload): string {
  return isOfTool === true ? name : `Uploaded file ${JSON.stringify(name)} (${mimeType})`;
}
