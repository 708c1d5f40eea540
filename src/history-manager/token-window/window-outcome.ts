import type { StructureRepair } from "../../structure/repair/repair-session.js";

/**
 * The sections that share the context window, in order of precedence. `tools` holds the tool definitions and the fixed
 * cost of a request.
 */
export type WindowSection = "system" | "user" | "tools" | "uploads" | "history" | "loop";

/** Something that was not sent, or only in part. The stored data stays whole. */
export type DroppedPart =
  /** A whole round. */
  | {
      readonly section: "history";
      readonly kind: "round";
      readonly messages: number;
      readonly tokens: number;
      readonly firstMessageId?: string;
    }
  /** Stored system messages and summaries. */
  | { readonly section: "history"; readonly kind: "pinned"; readonly messages: number; readonly tokens: number }
  /** Sources of a tool result; of `shortened` ones only the end of the text. */
  | {
      readonly section: "loop";
      readonly kind: "sources";
      readonly toolCallId: string;
      readonly sourceNumbers: readonly number[];
      readonly shortened: readonly number[];
    }
  /** The end of a tool result: `shown` of its `of` characters are sent. */
  | {
      readonly section: "loop";
      readonly kind: "text";
      readonly toolCallId: string;
      readonly shown: number;
      readonly of: number;
    }
  /** Image number `index` of a tool result. */
  | { readonly section: "loop"; readonly kind: "image"; readonly toolCallId: string; readonly index: number }
  /** The end of an upload: `shown` of its `of` characters are sent. An image is always dropped whole. */
  | {
      readonly section: "uploads";
      readonly kind: "upload";
      readonly id: string;
      readonly shown: number;
      readonly of: number;
    };

/** What the sections asked for and what they were given, in tokens. */
export interface WindowOutcome {
  /** `maxInputTokens` minus the safety margin. */
  readonly limit: number;
  /** The total size of the request: the sum of what the sections were given. */
  readonly tokens: number;
  /** By how much `tokens` exceeds `limit`; 0 if it fits. */
  readonly overBudgetBy: number;
  readonly sections: Readonly<Record<WindowSection, { readonly asked: number; readonly given: number }>>;
  readonly dropped: readonly DroppedPart[];
  /**
   * Repairs of what the model would have refused. First those of stored messages; their indexes count the human, AI and
   * tool messages before the turn, without system messages and summaries. Then those that the model's profile asks for;
   * their indexes count the messages as they would have been sent.
   */
  readonly repairs: readonly StructureRepair[];
}
