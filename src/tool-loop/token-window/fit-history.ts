import type { BaseMessage } from "@langchain/core/messages";
import type { StoredHistory } from "../stored/history.js";
import type { TokenMeter } from "./token-meter.js";
import type { DroppedPart } from "./window-outcome.js";

/** The part of the stored history that is sent; `asked` and `given` are tokens. */
export interface FittedHistory {
  readonly pinned: readonly BaseMessage[];
  readonly rounds: readonly (readonly BaseMessage[])[];
  readonly asked: number;
  readonly given: number;
  readonly dropped: readonly DroppedPart[];
}

/**
 * Takes stored system messages and summaries, then whole rounds, the newest first, until one does not fit. It takes no
 * smaller, older round instead, because the model would read a conversation with a gap.
 */
export async function fitHistory(
  { pinned, rounds }: StoredHistory,
  { budget, meter }: { readonly budget: number; readonly meter: TokenMeter },
): Promise<FittedHistory> {
  const dropped: DroppedPart[] = [];
  const pinnedTokens = await meter.ofAll(pinned);
  let fits = pinned.length === 0 || pinnedTokens <= budget;
  if (!fits) {
    dropped.push({ section: "history", kind: "pinned", messages: pinned.length, tokens: pinnedTokens });
  }
  const shownPinned = fits ? pinned : [];
  const kept: (readonly BaseMessage[])[] = [];
  let [asked, given] = [pinnedTokens, fits ? pinnedTokens : 0];
  for (const round of rounds.toReversed()) {
    const tokens = await meter.ofAll(round);
    asked += tokens;
    fits &&= given + tokens <= budget;
    if (fits) {
      kept.push(round);
      given += tokens;
    } else {
      dropped.push(droppedRound(round, tokens));
    }
  }
  return { pinned: shownPinned, rounds: kept.reverse(), asked, given, dropped };
}

function droppedRound(round: readonly BaseMessage[], tokens: number): DroppedPart {
  const firstMessageId = round[0]?.id;
  return {
    section: "history",
    kind: "round",
    messages: round.length,
    tokens,
    ...(firstMessageId !== undefined && { firstMessageId }),
  };
}
