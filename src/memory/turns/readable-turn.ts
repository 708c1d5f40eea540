import type { BaseMessage } from "@langchain/core/messages";
import { encodeMessage } from "../../store/codec/encode-message.js";
import { messageIdOf } from "../../store/codec/message-ids.js";
import { foreignCompaction, fromCompaction, sealedIn } from "../../conversation/messages/calls.js";
import { saysNothing } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/roles.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { type DecodedView, inTurnOrder, type StoredEntry, withoutRefusedEntries } from "../session/view.js";
import type { Adapter } from "../../conversation/structure/adapters/adapter.js";
import { withoutCompaction } from "../../conversation/structure/adapters/compaction.js";
import { reportCompaction } from "../../conversation/structure/seam/model-input.js";
import type { OpenTurn } from "./open-turn.js";

// Loaded with the first view whose head the next model cannot read.

/**
 * The view as the transcript tells it, where its head is a compaction that the adapter cannot read and whose text is
 * sealed: from an older compaction that can be read, else from the beginning. One more round trip.
 */
export async function readableView(
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
