import { cutText, lengthsBelow } from "./cut-text.js";
import type { Move, ShrinkRequest } from "./shrink-to-fit.js";
import type { ContentPart, TokenMeter } from "./token-meter.js";
import { isImage, type Upload } from "../stored/uploads.js";

/**
 * What is shown of an upload. `characters` of its text, or all of it (undefined); `left_out` leaves a statement,
 * `hidden` nothing.
 */
export interface ShownUpload {
  readonly upload: Upload;
  readonly as: "whole" | "cut" | "left_out" | "hidden";
  readonly characters?: number;
  readonly parts: readonly ContentPart[];
}

/** Renders uploads, the same parts each time, so that what was counted once is not counted again. */
export class UploadParts {
  readonly #whole = new WeakMap<Upload, ShownUpload>();
  readonly #moves = new WeakMap<Upload, ShownUpload[]>();

  /**
   * What it takes to fit the uploads: the oldest are cut first, then left out with a statement; at last the statements
   * go too.
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
    return { upload, as: "cut", characters, parts: [textPart(`${titleOf(upload)}:\n${cutText(text, characters)}`)] };
  });
  const statement = `[${titleOf(upload)} is left out: it does not fit into the window.]`;
  return [...cuts, { upload, as: "left_out", parts: [textPart(statement)] }, { upload, as: "hidden", parts: [] }];
}

function wholeParts(upload: Upload): ContentPart[] {
  const { text, url } = upload;
  if (text !== undefined) {
    return [textPart(`${titleOf(upload)}:\n${text}`)];
  }
  if (isImage(upload)) {
    return [textPart(`${titleOf(upload)}:`), imagePart(url!)];
  }
  return [textPart(`[${titleOf(upload)}${url === undefined ? "" : ` at ${url}`}; its content is not shown.]`)];
}

function titleOf({ name, mimeType }: Upload): string {
  return `Uploaded file ${JSON.stringify(name)} (${mimeType})`;
}

/** A text as a content part. */
export function textPart(text: string): ContentPart {
  return { type: "text", text };
}

/** An image as a content part, in the form that every LangChain integration takes. */
export function imagePart(url: string): ContentPart {
  return { type: "image_url", image_url: { url } };
}
