import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { textBlock } from "../../messages/content.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { sameElements } from "../../messages/copies/edits.js";
import type { FittedHistory } from "./fit-history.js";
import type { ShownResult } from "./loop-reduction.js";
import type { ContentPart } from "./token-meter.js";
import type { LoopStep } from "../turn/turn.js";
import type { ShownUpload } from "./upload-parts.js";

/** Follows the model's own message if that is last, because a model answers only a user or a tool. It is not stored. */
const continuation = new HumanMessage("Please continue.");

/** The parts to send, shrunk to fit. */
export interface WindowParts {
  readonly system: BaseMessage | undefined;
  readonly user: BaseMessage;
  readonly history: FittedHistory;
  readonly steps: readonly LoopStep[];
  readonly uploads: readonly ShownUpload[];
  readonly loop: readonly ShownResult[];
}

/**
 * Puts messages in order and adds uploads and images to the messages they belong to. Returns the same objects as last
 * time if nothing changed.
 */
export class MessageAssembly {
  readonly #carriers = new WeakMap<
    BaseMessage,
    { readonly parts: readonly ContentPart[]; readonly carrier: BaseMessage }
  >();

  /**
   * Returns the messages for the model. Uploads of messages that are not shown, and images from tools, come with the
   * user's message.
   */
  assemble({ system, user, history, steps, uploads, loop }: WindowParts): BaseMessage[] {
    const earlier = history.rounds.flat();
    const shownIds = new Set(earlier.map(({ id }) => id));
    const byMessage = new Map<string | undefined, ContentPart[]>();
    for (const { upload, parts } of uploads) {
      const place = shownIds.has(upload.messageId) ? upload.messageId : undefined;
      const list = byMessage.get(place) ?? [];
      list.push(...parts);
      byMessage.set(place, list);
    }
    const images = loop.flatMap((shown) => (shown.kind === "image" ? shown.parts : []));
    return [
      ...(system === undefined ? [] : [system]),
      ...history.pinned,
      ...earlier.map((message) =>
        this.#withParts(message, (message.id !== undefined && byMessage.get(message.id)) || []),
      ),
      this.#withParts(user, [...(byMessage.get(undefined) ?? []), ...images]),
      ...loopMessages(steps, loop),
      ...continuationOf(steps),
    ];
  }

  #withParts(message: BaseMessage, parts: readonly ContentPart[]): BaseMessage {
    if (parts.length === 0) {
      return message;
    }
    const known = this.#carriers.get(message);
    if (known !== undefined && sameElements(known.parts, parts)) {
      return known.carrier;
    }
    const { content } = message;
    const own = typeof content === "string" ? (content === "" ? [] : [textBlock(content)]) : content;
    const carrier = changeContent(message, [...own, ...parts]);
    this.#carriers.set(message, { parts, carrier });
    return carrier;
  }
}

/** Returns the model's own messages of the loop, and the "Please continue." that may have to follow them. */
export function ownMessages(steps: readonly LoopStep[]): BaseMessage[] {
  return [...steps.map(({ message }) => message), ...continuationOf(steps)];
}

function loopMessages(steps: readonly LoopStep[], loop: readonly ShownResult[]): BaseMessage[] {
  const shown = new Map(
    loop.flatMap((piece) => (piece.kind === "result" ? [[piece.result, piece.message] as const] : [])),
  );
  return steps.flatMap(({ message, results }) => [
    message,
    ...results.flatMap((result) => (result === undefined ? [] : shown.get(result)!)),
  ]);
}

function continuationOf(steps: readonly LoopStep[]): BaseMessage[] {
  const last = steps.at(-1);
  return last !== undefined && last.results.length === 0 ? [continuation] : [];
}
