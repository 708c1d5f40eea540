import type { ToolMessage } from "@langchain/core/messages";
import { textBlock } from "../../messages/content.js";
import { resultVariants, type BodyVariant, type ResultVariants } from "./result-variants.js";
import type { Move, ShrinkRequest } from "./shrink-to-fit.js";
import type { ContentPart, TokenMeter } from "./token-meter.js";
import { fullBody, resultMessage, type ToolResult } from "../turn/tool-results.js";
import type { LoopStep } from "../turn/turn.js";
import { toolImageName } from "../stored/tool-images.js";
import { imagePart } from "./upload-parts.js";
import type { DroppedPart } from "./window-outcome.js";

/** The variant of a tool result, or of one of its images, that is shown. */
export type ShownResult =
  | {
      readonly kind: "result";
      readonly result: ToolResult;
      readonly message: ToolMessage;
      readonly dropped?: DroppedPart;
    }
  | { readonly kind: "image"; readonly parts: readonly ContentPart[]; readonly dropped?: DroppedPart };

interface ResultPlace {
  readonly result: ToolResult;
  readonly iteration: number;
  readonly piece: number;
}

interface ImagePlace {
  readonly whole: ShownResult & { readonly kind: "image" };
  readonly without: ShownResult & { readonly kind: "image" };
}

/**
 * Shrinks the current turn's tool results, the oldest iteration first, and within it the least relevant sources first.
 *
 * First it drops sources from the end until one is left (cited ones stay) and cuts texts to no less than 1,000
 * characters. Then it cuts what is left to no less than 200 characters, then drops images, then cited sources, and
 * finally replaces results with a note. Reminders and the model's own messages stay. It keeps what it rendered, so a
 * later call in the same turn counts only what is new.
 */
export class LoopReduction {
  readonly #variants = new WeakMap<ToolResult, { readonly cited: string; readonly variants: ResultVariants }>();
  readonly #shownAs = new WeakMap<ToolResult | BodyVariant, ShownResult>();
  readonly #images = new WeakMap<ToolResult, ImagePlace[]>();

  /** Returns the request that fits the results of these steps; sources with `cited` numbers are dropped last. */
  request(steps: readonly LoopStep[], cited: ReadonlySet<number>, meter: TokenMeter): ShrinkRequest<ShownResult> {
    const places = steps.flatMap(({ results }, iteration) =>
      results.flatMap((result) => (result ? [{ result, iteration }] : [])),
    );
    const results = places.map((place, piece) => ({ ...place, piece }));
    const images = places.flatMap(({ result }) => this.#imagesOf(result));
    return {
      whole: [...results.map(({ result }) => this.#shown(result)), ...images.map(({ whole }) => whole)],
      moves: this.#moves(results, images, cited),
      tokensOf: (shown) => (shown.kind === "image" ? meter.ofParts(shown.parts) : meter.of(shown.message)),
    };
  }

  *#moves(
    results: readonly ResultPlace[],
    images: readonly ImagePlace[],
    cited: ReadonlySet<number>,
  ): Generator<Move<ShownResult>> {
    const variants = results.map(({ result }) => this.#variantsOf(result, cited));
    yield* this.#byIteration(results, (piece) => variants[piece]!.fewer);
    yield* this.#byIteration(results, (piece) => variants[piece]!.shorter);
    for (const [index, { without }] of images.entries()) {
      yield { piece: results.length + index, variant: without };
    }
    yield* this.#byIteration(results, (piece) => variants[piece]!.last);
  }

  /** One iteration after the other; within an iteration, all results shrink together, step by step. */
  *#byIteration(
    results: readonly ResultPlace[],
    variantsOf: (piece: number) => readonly BodyVariant[],
  ): Generator<Move<ShownResult>> {
    for (let from = 0; from < results.length;) {
      let to = from + 1;
      while (results[to]?.iteration === results[from]!.iteration) {
        to += 1;
      }
      const together = results.slice(from, to);
      const longest = Math.max(...together.map(({ piece }) => variantsOf(piece).length));
      for (let index = 0; index < longest; index += 1) {
        for (const { result, piece } of together) {
          const variant = variantsOf(piece)[index];
          if (variant !== undefined) {
            yield { piece, variant: this.#shown(result, variant) };
          }
        }
      }
      from = to;
    }
  }

  #variantsOf(result: ToolResult, all: ReadonlySet<number>): ResultVariants {
    const cited = result.sources.flatMap(({ sourceNumber }) => (all.has(sourceNumber) ? [sourceNumber] : [])).join(",");
    let known = this.#variants.get(result);
    if (known?.cited !== cited) {
      known = { cited, variants: resultVariants(result, all) };
      this.#variants.set(result, known);
    }
    return known.variants;
  }

  #shown(result: ToolResult, variant?: BodyVariant): ShownResult {
    let shown = this.#shownAs.get(variant ?? result);
    if (shown === undefined) {
      const message = resultMessage(result, variant === undefined ? fullBody(result) : variant.render());
      shown = { kind: "result", result, message, ...(variant !== undefined && { dropped: variant.dropped }) };
      this.#shownAs.set(variant ?? result, shown);
    }
    return shown;
  }

  #imagesOf(result: ToolResult): ImagePlace[] {
    let images = this.#images.get(result);
    if (images === undefined) {
      images = result.images.map((url, index) => imagePlace(result, url, index));
      this.#images.set(result, images);
    }
    return images;
  }
}

function imagePlace(result: ToolResult, url: string, index: number): ImagePlace {
  const { callId } = result;
  const label = toolImageName(result);
  const dropped = { section: "loop", kind: "image", toolCallId: callId, index } as const;
  return {
    whole: { kind: "image", parts: [textBlock(`${label}:`), imagePart(url)] },
    without: { kind: "image", parts: [textBlock(`[${label} omitted: it does not fit the context window.]`)], dropped },
  };
}
