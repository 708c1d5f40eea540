import { HumanMessage, type BaseMessage, type ContentBlock } from "@langchain/core/messages";
import { textBlock } from "../../../conversation/messages/content.js";
import { countOf } from "../../../conversation/tokens/counted-messages.js";
import type { TokenCounter } from "../../../conversation/tokens/token-counter.js";
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
  readonly #variants = new WeakMap<Upload, readonly ShownUpload[]>();

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  /**
   * The uploads as they take at most `budget` tokens: the newest ones whole, the first one that does not fit cut, and
   * a note in the place of each older one, where there is room for it.
   */
  async within(uploads: readonly Upload[], budget: number): Promise<ShownUpload[]> {
    const shown: ShownUpload[] = [];
    let left = budget;
    for (const upload of uploads.toReversed()) {
      const variants = this.#variants.get(upload) ?? variantsOf(upload);
      this.#variants.set(upload, variants);
      const isFull = shown.some(({ as }) => as !== "whole");
      for (const variant of isFull ? variants.slice(-2) : variants) {
        const size = await this.#tokensOf(variant.message);
        if (size <= left) {
          left -= size;
          shown.push(variant);
          break;
        }
      }
    }
    return shown.reverse();
  }

  /** Tokens that its parts add to another message. */
  async #tokensOf(message: BaseMessage): Promise<number> {
    return Math.max(0, (await countOf(this.#counter, message)) - (await countOf(this.#counter, nothing)));
  }
}

/** An upload whole, cut to ever less, as a note, and as nothing. */
function variantsOf(upload: Upload): ShownUpload[] {
  const { text = "" } = upload;
  const cuts = lengthsBelow(text.length).map((characters): ShownUpload => {
    return shownAs(upload, "cut", [textBlock(`${titleOf(upload)}:\n${cutText(text, characters)}`)]);
  });
  const note = textBlock(`[${titleOf(upload)} omitted: it does not fit the context window.]`);
  const whole = shownAs(upload, "whole", wholeParts(upload));
  return [whole, ...cuts, shownAs(upload, "left_out", [note]), shownAs(upload, "hidden", [])];
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
