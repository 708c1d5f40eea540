import type { BaseMessage } from "@langchain/core/messages";
import { report } from "../../base/events.js";
import { viewSize } from "../../conversation/reducers/chat-history-reducer.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { commitOutcome, reduceAfterWrite } from "../session/reduce-view.js";
import type { TracePlace } from "../session/reduction-trace.js";
import { type DecodedView, inTurnOrder, type StoredEntry, withoutRefusedEntries } from "../session/view.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import { exceedsLimit } from "./fit-request.js";
import type { TurnRequests } from "./turn-requests.js";
import { encodeMessage, messageIdOf } from "../../store/codec/encode-message.js";
import { foreignCompaction, fromCompaction, sealedIn, saysNothing } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";
import type { Adapter } from "../../conversation/structure/adapters/adapter.js";
import { withoutCompaction } from "../../conversation/structure/adapters/blocks.js";
import { reportCompaction } from "../../conversation/structure/seam/model-input.js";
import type { OpenTurn } from "./open-turn.js";

// Loaded with the first turn whose request was reduced.

/** A turn that is stored with its answer, after requests of a reduced list. */
export interface ReducedTurn {
  readonly session: ConversationSession;
  readonly requests: TurnRequests;
  /** The view after the turn's last write. */
  readonly view: SessionView;
  /** True if that write replaced the end of the log. */
  readonly hasCut: boolean;
  /** The id under which a message of the turn is stored. */
  readonly storedIdOf: (message: BaseMessage) => string;
  /** True for the id of a message that the turn has written. */
  readonly isWritten: (id: string) => boolean;
  readonly trace: TracePlace | undefined;
}

/**
 * Commits the list of the last request, which the model accepted, as the view, so that no summary is paid for twice. If
 * others wrote or reduced meanwhile, reduces the view as after any write. Never throws: a failure is reported.
 */
export async function commitReduced(turn: ReducedTurn): Promise<void> {
  const { session, requests, view, storedIdOf, trace } = turn;
  const { sessionId, context } = session;
  const { reducer, tokenCounter, onEvent } = context;
  const { reducedFrom: before, readFor, list } = requests;
  try {
    const stored = session.decode(view);
    const decoded = readFor === undefined ? stored : await readableView(session, stored, readFor);
    if (before === undefined || !isUndisturbed(decoded, turn)) {
      const shown = stored.entries.map(({ message }) => message);
      await (reducer !== undefined && (await exceedsLimit(reducer, shown))
        ? reduceAfterWrite(session, view, trace)
        : undefined);
      return;
    }
    const byId = new Map(decoded.entries.map(({ message }) => [message.id, message]));
    const messages = list.messages.map((message) =>
      list.isOfTurn(message) ? (byId.get(storedIdOf(message)) ?? message) : message,
    );
    const after = await viewSize(messages, reducer?.tokenCounter ?? tokenCounter);
    if ((await commitOutcome(session, decoded, { messages, before, after, overBudgetBy: 0 })) === "stale") {
      report(onEvent, { type: "reduction_stale", sessionId });
    }
  } catch (error) {
    report(onEvent, { type: "reduction_failed", sessionId, error });
  }
}

/** True if the view holds only the messages that the turn began with and wrote. */
function isUndisturbed({ stored, entries }: DecodedView, { requests, hasCut, isWritten }: ReducedTurn): boolean {
  const { opened, list } = requests;
  const read = opened.view.stored;
  const first = read.turn?.first ?? opened.stored[0]?.position ?? read.start;
  if (first < read.start) {
    return false;
  }
  const isSameLife = read.epoch === "" || (read.epoch === stored.epoch && (hasCut || read.rev === stored.rev));
  // Not the view that was read: it may hold messages of others behind an open turn's beginning.
  const ids = new Set([...opened.history, ...opened.turn].map(({ id }) => id));
  const inView = new Set(entries.map(({ message }) => message.id));
  // A failover may have restored an older log, without messages that the turn holds or summarized.
  const isComplete = opened.history.every(({ id }) => inView.has(id));
  const isOurs = ({ id }: BaseMessage) => ids.has(id) || list.hasSeen(id) || isWritten(id ?? "");
  return isSameLife && isComplete && entries.every(({ message }) => isOurs(message));
}

// Loaded with the first view whose head the next model cannot read.

/**
 * The view as the transcript tells it, where its head is a compaction that the adapter cannot read and whose text is
 * sealed: from an older compaction that can be read, else from the beginning. One more round trip.
 */
async function readableView(
  session: ConversationSession,
  view: DecodedView,
  adapter: Adapter | undefined,
): Promise<DecodedView> {
  const { base, next } = view.stored;
  const log = await session.readEntries({ from: base, limit: Math.max(1, next - base) });
  const ids = new Set(log.map(({ message }) => message.id));
  // Messages that only the head holds: all that is left of messages that retention discarded.
  const inHead = view.entries.filter(({ position, message: { id } }) => position === undefined && !ids.has(id));
  const isGone = ({ message }: StoredEntry) => base === 0 && roleOf(message) === "summary";
  const told = [...inHead.filter((entry) => !isGone(entry)), ...inTurnOrder(log)];
  const entries = told.flatMap((entry) => openedEntry(entry, adapter));
  const all = fromCompaction(entries, ({ message }) => message);
  return { ...view, entries: withoutRefusedEntries(all), all };
}

/** An entry without a compaction that nobody else can read: not as it is in the log, so it has no place there. */
function openedEntry(entry: StoredEntry, adapter: Adapter | undefined): readonly StoredEntry[] {
  if (!isSealed(entry.message, adapter)) {
    return [entry];
  }
  const message = withoutCompaction(entry.message);
  const { record } = encodeMessage(message, { id: messageIdOf(message) });
  return saysNothing(message) ? [] : [{ message, record, position: undefined }];
}

function isSealed(message: BaseMessage, adapter: Adapter | undefined): boolean {
  const foreign = foreignCompaction(message, adapter);
  return foreign !== undefined && foreign.text === undefined;
}

/** The message without a compaction that the adapter cannot read and whose text is sealed. */
export function openedMessage(message: BaseMessage, adapter: Adapter | undefined): BaseMessage {
  return isSealed(message, adapter) ? withoutCompaction(message) : message;
}

/** A turn as the adapter can read it: behind the transcript, where the view begins with what only another one reads. */
export async function readableTurn(
  session: ConversationSession,
  opened: OpenTurn,
  adapter: Adapter | undefined,
): Promise<OpenTurn> {
  const sealed = sealedIn(opened.history, adapter);
  if (sealed === undefined) {
    return opened;
  }
  const view = await readableView(session, opened.view, adapter);
  reportCompaction(sealed, "transcript", session.observer);
  const shown = new Set(opened.history);
  const behind = new Set(
    opened.view.entries.flatMap(({ message, position }) => (shown.has(message) ? [] : [position])),
  );
  const before = view.entries.filter(({ position }) => position === undefined || !behind.has(position));
  return { ...opened, view, history: before.map(({ message }) => message) };
}
