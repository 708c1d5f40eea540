import type { StructureRepair } from "../../structure/repair/session.js";

/**
 * The sections that share the context window, in order of precedence. `tools` holds the tool definitions and the fixed
 * cost of a request.
 */
export type WindowSection = "system" | "user" | "tools" | "uploads" | "history" | "loop";

/** Something that was not sent, or only in part. The stored data stays whole. */
export type DroppedPart =
  | {
      /** Stored messages of earlier turns. */
      readonly section: "history";
      /** A whole round. */
      readonly kind: "round";
      /** How many messages the round has. */
      readonly messages: number;
      /** Tokens that they would have taken. */
      readonly tokens: number;
      /** The id of the round's first message, if it has one. */
      readonly firstMessageId?: string;
    }
  | {
      /** Stored messages of earlier turns. */
      readonly section: "history";
      /** Stored system messages and summaries, all of them. */
      readonly kind: "pinned";
      /** How many messages they are. */
      readonly messages: number;
      /** Tokens that they would have taken. */
      readonly tokens: number;
    }
  | {
      /** Tool results of this turn. */
      readonly section: "loop";
      /** Sources of a tool result, whole or the end of their text. */
      readonly kind: "sources";
      /** The id of the call whose result it is. */
      readonly toolCallId: string;
      /** The numbers of the sources that were not sent. */
      readonly sourceNumbers: readonly number[];
      /** The numbers of the sources of which only the beginning was sent. */
      readonly shortened: readonly number[];
    }
  | {
      /** Tool results of this turn. */
      readonly section: "loop";
      /** The end of a tool result's text. */
      readonly kind: "text";
      /** The id of the call whose result it is. */
      readonly toolCallId: string;
      /** Characters that are sent; 0 where a note stands in their place. */
      readonly shown: number;
      /** Characters of the whole text. */
      readonly of: number;
    }
  | {
      /** Tool results of this turn. */
      readonly section: "loop";
      /** An image of a tool result. */
      readonly kind: "image";
      /** The id of the call whose result it is. */
      readonly toolCallId: string;
      /** The image's place among the result's images, from 0. */
      readonly index: number;
    }
  | {
      /** Files that the user uploaded. */
      readonly section: "uploads";
      /** The end of an upload's text, or an image, which is always dropped whole. */
      readonly kind: "upload";
      /** The upload's id. */
      readonly id: string;
      /** Characters of its text that are sent; 0 for an image. */
      readonly shown: number;
      /** Characters of its text; 0 for an image. */
      readonly of: number;
    };

/** The tokens that the sections asked for, and the tokens that they were given. */
export interface WindowOutcome {
  /**
   * Tokens by the counter that the request may take: the window without the room for the answer and the safety margin,
   * scaled by what the provider counted for the newest answer's request where `model` is given.
   */
  readonly limit: number;
  /** The total size of the request: the sum of what the sections were given. */
  readonly tokens: number;
  /** By how much `tokens` exceeds `limit`; 0 if it fits. */
  readonly overBudgetBy: number;
  /** For each section its share of the window, in tokens. */
  readonly sections: Readonly<
    Record<
      WindowSection,
      {
        /** Tokens that the whole section would take. */
        readonly asked: number;
        /** Tokens of what is sent of it. */
        readonly given: number;
      }
    >
  >;
  /** Parts that were shortened or left out; empty if all was sent. */
  readonly dropped: readonly DroppedPart[];
  /**
   * Repairs of what the model would have refused. First those of stored messages; their indexes count the human, AI and
   * tool messages before the turn, without system messages and summaries. Then those that the model's profile asks for;
   * their indexes count the messages as they would have been sent.
   */
  readonly repairs: readonly StructureRepair[];
}
