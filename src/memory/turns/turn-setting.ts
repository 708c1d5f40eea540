import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import type { AppendHistory } from "../session/append-input.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { TakeTurnOptions } from "../session/hold/acquire-hold.js";
import type { SideChanges } from "../../store/contract/session-writes.js";
import type { ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import { lazy } from "../../base/options.js";
import { defaultTimes, oneTurnSchema, type HoldTimes } from "../session/hold/local-holds.js";

/** When a turn is stored, and what a stopped one leaves. */
export interface TurnPolicy {
  readonly persist: "turn" | "step";
  readonly onAbort: "discard" | "keep";
}

/** How a turn holds its session, from its first call on. */
export type TurnHolding = TakeTurnOptions & { readonly isAsked: boolean };

/** A turn to open. */
export interface TurnSetting {
  readonly history: AppendHistory;
  readonly session: ConversationSession;
  readonly turnId: string | undefined;
  readonly policy: TurnPolicy;
  /** @default the memory's profile */
  readonly profile?: ProfileChoice | undefined;
  /** Tells messages of the view that the turn's own list holds again. @default none */
  readonly isInState?: ((message: BaseMessage) => boolean) | undefined;
  /**
   * True if nothing is tried again: the runnable may act before a request is refused, or the application calls the
   * model. @default false
   */
  readonly acts?: boolean;
  /** True where nobody can tell what is stored in the place of a message. @default false */
  readonly isRewritten?: boolean;
  /** The run's config, in whose run a reduction behind a write is traced. */
  readonly config?: Partial<RunnableConfig> | undefined;
  /** Returns how the turn holds its session now. @default no hold of the turn's own */
  readonly holding?: (() => TurnHolding) | undefined;
}

/** The input of a turn. */
export interface TurnInput {
  /** The new user messages, possibly behind the client's copy of the whole history. */
  readonly messages: readonly BaseMessage[];
  /** The same messages as other middleware has changed them since, told by their ids. @default none */
  readonly changed?: readonly BaseMessage[];
  /** Messages that the opening writes with `persist: "step"`; empty where it only reads. @default `messages` */
  readonly written?: readonly BaseMessage[];
}

/** Messages to store; a function is called when the writes before it have ended. */
export type MessagesToStore = readonly BaseMessage[] | (() => readonly BaseMessage[]);

/** The part of a failed run that is not stored yet, where its question is marked. */
export interface Unstored {
  readonly messages: readonly BaseMessage[];
  readonly side?: SideChanges;
}

/** Messages for one run, which were said while it is under way. */
export interface SaidToRun {
  /** Messages that were said since the last call. */
  take(): Promise<BaseMessage[]>;
  /** The same; where that is nothing, the run takes no more. */
  takeOrClose(): Promise<BaseMessage[]>;
}

/** The runs of an application, which `redisRuns` makes. */
export interface SteeredRuns {
  /** Messages for the run of a session that this process produces; undefined where it produces none. */
  saidTo(sessionId: string, turnId?: string): SaidToRun | undefined;
}

/** Defaults of chain and agent for storing and holding a turn. Reasons: docs/decisions/17-defaults-of-a-turn.md. */
const turnDefaults = { persist: "step", onAbort: "keep", oneTurnAtATime: true } as const;

/** Schema fields of these options. `oneTurnAtATime` stays undefined unless it is given. */
export const turnFields = lazy(() => ({
  persist: z._default(z.enum(["turn", "step"], 'must be "turn" or "step"'), turnDefaults.persist),
  onAbort: z._default(z.enum(["discard", "keep"], 'must be "discard" or "keep"'), turnDefaults.onAbort),
  oneTurnAtATime: z.optional(oneTurnSchema()),
}));

/** Policy by which runs hold their sessions. */
export interface HoldPolicy extends Required<HoldTimes> {
  /** True if the option was given: a run that cannot hold its session is then refused. */
  readonly isAsked: boolean;
}

/** Resolves the option `oneTurnAtATime`; undefined if it is off. */
export function holdPolicy(option: boolean | HoldTimes | undefined): HoldPolicy | undefined {
  const isAsked = option !== undefined;
  const chosen = isAsked ? option : turnDefaults.oneTurnAtATime;
  if (chosen === false) {
    return undefined;
  }
  return { ...defaultTimes, ...(chosen === true ? {} : chosen), isAsked };
}
