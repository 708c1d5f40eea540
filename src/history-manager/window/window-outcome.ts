import type { StructureRepair } from "../../structure/repair/repair-session.js";

/**
 * The parts that share a window, in order of precedence: `tools` holds the tool definitions and what each request costs
 * besides.
 */
export type WindowSection = "system" | "user" | "tools" | "uploads" | "history" | "loop";

/** Something that was asked for and not sent, or not sent whole. What is stored stays whole. */
export type DroppedPart =
  /** A whole round, and all rounds before it. */
  | {
      readonly section: "history";
      readonly kind: "round";
      readonly messages: number;
      readonly tokens: number;
      readonly firstMessageId?: string;
    }
  /** Stored system messages and summaries. */
  | { readonly section: "history"; readonly kind: "pinned"; readonly messages: number; readonly tokens: number }
  /** Sources of a tool result, or the ends of their texts (`shortened`). */
  | {
      readonly section: "loop";
      readonly kind: "sources";
      readonly toolCallId: string;
      readonly sourceNumbers: readonly number[];
      readonly shortened: readonly number[];
    }
  /** The end of a tool result, from character number `shown` on. */
  | {
      readonly section: "loop";
      readonly kind: "text";
      readonly toolCallId: string;
      readonly shown: number;
      readonly of: number;
    }
  /** Image number `index` of a tool result. */
  | { readonly section: "loop"; readonly kind: "image"; readonly toolCallId: string; readonly index: number }
  /** The end of an upload, from character number `shown` on; an image is left out whole. */
  | {
      readonly section: "uploads";
      readonly kind: "upload";
      readonly id: string;
      readonly shown: number;
      readonly of: number;
    };

/** What a window was asked to hold and what it holds, in tokens. */
export interface WindowOutcome {
  /** `maxInputTokens` less the safety margin. */
  readonly limit: number;
  /** All that is sent: the sum of what the sections were given. */
  readonly tokens: number;
  /** How far `tokens` is above `limit`; 0 where it fits. */
  readonly overBudgetBy: number;
  readonly sections: Readonly<Record<WindowSection, { readonly asked: number; readonly given: number }>>;
  readonly dropped: readonly DroppedPart[];
  /**
   * What was changed in stored messages on their way to the model, because it would have been refused; indexes count
   * human, AI and tool messages of the view.
   */
  readonly repairs: readonly StructureRepair[];
}
