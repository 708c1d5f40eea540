import { textBlock } from "../../messages/content.js";
import { cutText, lengthsBelow } from "./cut-text.js";
import type { Move, ShrinkRequest } from "./shrink-to-fit.js";
import type { ContentPart, TokenMeter } from "./token-meter.js";
import { isImage, type Upload } from "../stored/uploads.js";

/**
 * The variant of an upload that is shown. `characters` of its text are shown, or all of it (undefined). `left_out`
 * shows a note, `hidden` nothing.
 */
export interface ShownUpload {
  readonly upload: Upload;
  readonly as: "whole" | "cut" | "left_out" | "hidden";
  readonly characters?: number;
  readonly parts: readonly ContentPart[];
}

/** Renders uploads; returns the same parts each time, so that they are counted once. */
export class UploadParts {
  readonly #whole = new WeakMap<Upload, ShownUpload>();
  readonly #moves = new WeakMap<Upload, ShownUpload[]>();

  /**
   * Returns the request that fits the uploads: the oldest are cut first, then replaced with a note; finally the notes
   * are dropped too.
   */
  request(uploads: readonly Upload[], meter: TokenMeter): ShrinkRequest<ShownUpload> {
    return {
      whole: uploads.map((upload) => this.#wholeOf(upload)),
      moves: this.#movesOf(uploads),
      tokensOf: ({ parts }) => meter.ofParts(parts),
    };
  }

  *#movesOf(uploads: readonly Upload[]): Generator<Move<ShownUpload>> {
    const moves = uploads.map((upload) => this.#smaller(upload));
    for (const [piece, variants] of moves.entries()) {
      for (const variant of variants.slice(0, -1)) {
        yield { piece, variant };
      }
    }
    for (const [piece, variants] of moves.entries()) {
      yield { piece, variant: variants.at(-1)! };
    }
  }

  #wholeOf(upload: Upload): ShownUpload {
    let shown = this.#whole.get(upload);
    if (shown === undefined) {
      shown = { upload, as: "whole", parts: wholeParts(upload) };
      this.#whole.set(upload, shown);
    }
    return shown;
  }

  #smaller(upload: Upload): ShownUpload[] {
    let moves = this.#moves.get(upload);
    if (moves === undefined) {
      moves = smallerVariants(upload);
      this.#moves.set(upload, moves);
    }
    return moves;
  }
}

function smallerVariants(upload: Upload): ShownUpload[] {
  const { text = "" } = upload;
  const cuts = lengthsBelow(text.length).map((characters): ShownUpload => {
    return { upload, as: "cut", characters, parts: [textBlock(`${titleOf(upload)}:\n${cutText(text, characters)}`)] };
  });
  const statement = `[${titleOf(upload)} omitted: it does not fit the context window.]`;
  return [...cuts, { upload, as: "left_out", parts: [textBlock(statement)] }, { upload, as: "hidden", parts: [] }];
}

function wholeParts(upload: Upload): ContentPart[] {
  const { text, url } = upload;
  if (text !== undefined) {
    return [textBlock(`${titleOf(upload)}:\n${text}`)];
  }
  if (isImage(upload)) {
    return [textBlock(`${titleOf(upload)}:`), imagePart(url!)];
  }
  return [textBlock(`[${titleOf(upload)}${url === undefined ? "" : ` at ${url}`}: content not shown.]`)];
}

function titleOf({ name, mimeType, isOfTool }: Upload): string {
  return isOfTool === true ? name : `Uploaded file ${JSON.stringify(name)} (${mimeType})`;
}

/** Creates an image part in the format that every LangChain integration accepts. */
export function imagePart(url: string): ContentPart {
  return { type: "image_url", image_url: { url } };
}
