import type { BaseMessage } from "@langchain/core/messages";
import { report } from "../base/events.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { commitOutcome, reduceAfterWrite } from "../session/reduce-view.js";
import { traceOf } from "../session/reduction-trace.js";
import type { DecodedView } from "../session/view.js";
import type { Adapter } from "../structure/adapters/adapter.js";
import { viewSize } from "../reducers/reduction-outcome.js";
import type { SessionView } from "../store/session-reads.js";
import type { OpenTurn } from "../turns/open-turn.js";
import { currentConfig } from "./run-place.js";
import { exceedsLimit, type LoopView } from "./loop-view.js";

/** A finished run: its model's last list, and the view after its last write. */
export interface LoopEnd {
  readonly session: ConversationSession;
  readonly opened: OpenTurn;
  readonly loop: LoopView;
  readonly view: SessionView;
  /** True if the write replaced the end of the log. */
  readonly hasCut: boolean;
  /** The adapter for which the view was read from the transcript; undefined where it was not. */
  readonly readFor?: Adapter | undefined;
}

/**
 * Commits the loop's reduced list as the view, so that no summary is paid for twice. If others wrote or reduced
 * meanwhile, reduces the view as after any write. Never throws: a failure is reported.
 */
export async function commitLoop({ session, opened, loop, view, hasCut, readFor }: LoopEnd): Promise<void> {
  const { sessionId, context } = session;
  const { reducer, tokenCounter } = context;
  const stored = session.decode(view);
  const decoded =
    readFor === undefined || loop.reducedFrom === undefined ? stored : await readAgain(session, stored, readFor);
  const isAlone = isUndisturbed(decoded, { opened, loop, hasCut });
  if (loop.reducedFrom === undefined || !isAlone) {
    if (
      reducer !== undefined &&
      (await exceedsLimit(
        reducer,
        stored.entries.map(({ message }) => message),
      ))
    ) {
      await reduceAfterWrite(session, view, traceOf(currentConfig()));
    }
    return;
  }
  try {
    // Without the run's signal: the answer is stored, so a stop must not cancel this.
    await loop.reduce(traceOf(currentConfig()));
    const byId = new Map(decoded.entries.map(({ message }) => [message.id, message]));
    const messages = loop.messages.map((message) =>
      loop.isOfTurn(message) ? (byId.get(message.id) ?? message) : message,
    );
    const after = await viewSize(messages, reducer?.tokenCounter ?? tokenCounter);
    const outcome = { messages, before: loop.reducedFrom, after, overBudgetBy: 0 };
    if ((await commitOutcome(session, decoded, outcome)) === "stale") {
      report(context.onEvent, { type: "reduction_stale", sessionId });
    }
  } catch (error) {
    report(context.onEvent, { type: "reduction_failed", sessionId, error });
  }
}

/** The stored view as the run's requests had it. */
async function readAgain(session: ConversationSession, view: DecodedView, adapter: Adapter): Promise<DecodedView> {
  const { readableView } = await import("../turns/readable-turn.js");
  return readableView(session, view, adapter);
}

/** True if the view holds only the messages that the loop began with and wrote. */
function isUndisturbed(
  { stored, entries }: DecodedView,
  { opened, loop, hasCut }: Pick<LoopEnd, "opened" | "loop" | "hasCut">,
): boolean {
  const read = opened.view.stored;
  const first = read.turn?.first ?? opened.stored[0]?.position ?? read.start;
  if (first < read.start) {
    return false;
  }
  const isSameLife = read.epoch === "" || (read.epoch === stored.epoch && (hasCut || read.rev === stored.rev));
  // Not the view that was read: it may hold messages of others behind an open turn's beginning.
  const known = new Set([...opened.history, ...opened.turn].map(({ id }) => id));
  const inView = new Set(entries.map(({ message }) => message.id));
  // A failover may have restored an older log, without messages that the loop holds or summarized.
  const isComplete = opened.history.every(({ id }) => inView.has(id));
  const isOurs = ({ id }: BaseMessage) => known.has(id) || loop.hasSeen(id);
  return isSameLife && isComplete && entries.every(({ message }) => isOurs(message));
}
