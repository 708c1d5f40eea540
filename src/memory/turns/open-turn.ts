import { maxTries } from "../../base/bounds.js";
import type { BaseMessage } from "@langchain/core/messages";
import { isAnswer, sameContent } from "../../conversation/messages/content.js";
import { isInterrupted, refusedMarkOf, roleOf } from "../../conversation/messages/message.js";
import { metaOf } from "../../store/codec/decode-record.js";
import { turnNameOf } from "../../store/codec/encode-message.js";
import { report } from "../../base/events.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { WindowSource } from "../session/memory-context.js";
import { type DecodedView, type StoredEntry, inTurnOrder, withoutRefusedEntries } from "../session/view.js";
import { comparableForms } from "../session/stored-forms.js";
import { contentConflict, damaged } from "../../store/contract/refusals.js";
import type { TurnMark } from "../../store/contract/session-writes.js";
import { reportUnknownWindow } from "../../conversation/structure/seam/model-input.js";
import type { ModelProfile } from "../../conversation/structure/seam/profile-of.js";
import { answerStart } from "../session/turn-messages.js";
import { firstOfBlock, newInput, type InputPlace } from "./new-input.js";
import type { TurnInput, TurnSetting } from "./turn-setting.js";
import { writeTurn, type AppendHistory } from "../session/append-input.js";

/** A turn to open: its session, its id if it has one, and the caller's input. */
export interface TurnRequest {
  readonly session: ConversationSession;
  readonly turnId: string | undefined;
  /** The new user messages, possibly behind the client's copy of the whole history. */
  readonly input: readonly BaseMessage[];
  /** The same messages as other middleware has changed them since, told by their ids. @default none */
  readonly changed?: readonly BaseMessage[];
  /** True where nobody can tell what is stored in the place of a message: a subclass of the history decides it. */
  readonly isRewritten?: boolean;
}

/**
 * Stored state of a turn. `new`: nothing is stored. `open`: its beginning. `interrupted`: it was stopped, with a
 * partial answer. `stored`: complete, with its answer.
 */
export type TurnState = "new" | "open" | "interrupted" | "stored";

/** A turn and the conversation before it, as read at its beginning. */
export interface OpenTurn {
  readonly state: TurnState;
  readonly view: DecodedView;
  readonly history: readonly BaseMessage[];
  /** The turn's messages that are stored, oldest first. */
  readonly stored: readonly StoredEntry[];
  /** True if the turn's question was discarded by retention, while a part of its answer is left. */
  readonly isQuestionGone: boolean;
  readonly newMessages: readonly BaseMessage[];
  /** The input that the opening has stored. */
  readonly written: readonly BaseMessage[];
  /** The turn for the model, behind `history`: its stored messages that can stay, then its new ones. */
  readonly turn: readonly BaseMessage[];
}

/** Reads the view and finds the new messages of a turn. One round trip; one more for a turn outside the view. */
export async function openTurn(request: TurnRequest, attempt = 1): Promise<OpenTurn> {
  const { session, turnId, input } = request;
  return openFromView(request, await session.readForTurn({ turnId, ids: idsOf(input) }), attempt);
}

/**
 * The reducer that fits a request into its model's window; undefined where another reducer does, or none, and where
 * neither the model nor anything else tells the window.
 */
export function windowFor(
  { sessionId, context: { window, onEvent } }: ConversationSession,
  { window: { model, maxInputTokens } }: ModelProfile,
): WindowSource | undefined {
  const isKnown = window === undefined || window.isTold || maxInputTokens !== undefined;
  if (!isKnown && model !== undefined) {
    reportUnknownWindow(model, { sessionId, onEvent });
  }
  return isKnown ? window : undefined;
}

/** Opens a turn from a view that was read with the turn's mark. */
async function openFromView(request: TurnRequest, view: DecodedView, attempt = 1): Promise<OpenTurn> {
  const { session, turnId, input } = request;
  const positions = positionsOf(view, idsOf(input));
  const incoming = await newInput({ session, view, positions, input });
  const stored = await ownEntries({ session, view, turnId, place: incoming.place });
  if (attempt < maxTries.edit && isRemoved(view, { stored, place: incoming.place, positions })) {
    return openTurn(request, attempt + 1);
  }
  if (isEvicted(view, stored)) {
    await rebuildOrRefuse(session, attempt);
    return openTurn(request, attempt + 1);
  }
  await refuseOtherQuestion(request, stored);
  const state = stateOf(stored, turnId === undefined ? undefined : view.stored.turn);
  const isQuestionGone = lacksQuestion(view, stored);
  const gone = isQuestionGone ? questionIn(input) : [];
  const newMessages =
    stored.length === 0 ? incoming.newMessages : unstored(incoming.newMessages, isQuestionGone || hasQuestion(stored));
  const entries = state === "open" ? stored : stored.slice(0, answerStart(stored));
  const own = entries.map(({ message }) => message).filter((message) => refusedMarkOf(message) === undefined);
  const turn = [...gone, ...own, ...newMessages];
  const history = await beforeOwn({ session, view, own: stored });
  return { state, view, history, stored, isQuestionGone, newMessages, written: [], turn };
}

/** True where a turn is marked as stored and Redis lost its records: a model would be called without its question. */
function isEvicted({ stored: { turn, base, damaged: isDamaged } }: DecodedView, own: readonly StoredEntry[]): boolean {
  return isDamaged && turn !== undefined && turn.first >= base && own.length === 0;
}

async function rebuildOrRefuse(session: ConversationSession, attempt: number): Promise<void> {
  if (session.context.onDamage !== "rebuild" || attempt >= maxTries.edit) {
    throw damaged("readView", session.sessionId);
  }
  await session.rebuild();
}

/**
 * A question under the id of a stored one that says something else, as of a client that lets its user edit: the answer
 * to the stored one would look like the answer to it.
 */
async function refuseOtherQuestion(
  { session, input, changed = [], isRewritten = false }: TurnRequest,
  stored: readonly StoredEntry[],
): Promise<void> {
  const id = input.findLast((message) => roleOf(message) === "human")?.id;
  const there = id === undefined ? undefined : stored.find(({ message }) => message.id === id)?.message;
  if (id === undefined || there === undefined || isRewritten) {
    return;
  }
  const { sessionId, context } = session;
  const versions = [...input, ...changed].filter((message) => message.id === id);
  const forms = [...versions, ...(await comparableForms(versions, context.forms))];
  if (!forms.some((form) => sameContent(form, there))) {
    if (context.onConflict === "error") {
      throw contentConflict(sessionId, id);
    }
    report(context.onEvent, { type: "conflict_kept", sessionId, messageId: id });
  }
}

/** The ids of messages. */
export function idsOf(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap(({ id }) => (id === undefined ? [] : [id]));
}

/** The ids in the view, and those of the given ones that the session holds besides. One round trip. */
export async function storedIds(session: ConversationSession, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set(positionsOf(await session.readForTurn({ turnId: undefined, ids }), ids).keys());
}

/** Positions by id; only those in the view, if the store has no lookup. */
function positionsOf({ stored, all }: DecodedView, ids: readonly string[]): ReadonlyMap<string, number> {
  const inView = all.map(({ message, position }) => [message.id, position ?? -1] as const);
  const pairs = stored.positions?.map((position, index) => [ids[index], position] as const) ?? [];
  return new Map(
    [...inView, ...pairs].filter((entry): entry is [string, number] => {
      return entry[0] !== undefined && entry[1] !== undefined;
    }),
  );
}

interface OwnRequest {
  readonly session: ConversationSession;
  readonly view: DecodedView;
  readonly turnId: string | undefined;
  readonly place: InputPlace | undefined;
}

/** The stored messages of the turn: by the turn's name, else its input and the answer to it. */
async function ownEntries({ session, view, turnId, place }: OwnRequest): Promise<StoredEntry[]> {
  const mark = turnId === undefined ? undefined : view.stored.turn;
  if (mark !== undefined) {
    const name = turnNameOf(turnId!);
    const entries = await entriesFrom(session, view, mark.first);
    return entries.filter(({ record }) => metaOf(record).turn === name);
  }
  return place === undefined ? [] : entriesAt(await entriesFrom(session, view, place.first), place);
}

/**
 * The input at a place and its answer: the messages up to the next question that were stored for the same turn. A
 * question followed by another one has no answer.
 */
function entriesAt(entries: readonly StoredEntry[], { last }: InputPlace): StoredEntry[] {
  const question = entries.findIndex(({ position }) => position === last);
  if (question < 0) {
    return [];
  }
  const name = turnOf(entries[question]!);
  let first = question;
  while (first > 0 && isInput(entries[first - 1]!) && turnOf(entries[first - 1]!) === name) {
    first -= 1;
  }
  const behind = entries.slice(question + 1);
  const next = behind.findIndex(({ message }) => roleOf(message) === "human");
  const following = next < 0 ? behind : behind.slice(0, next);
  const answer = following.find((entry) => !isInput(entry));
  if (answer === undefined) {
    return entries.slice(first, question + 1);
  }
  const own = name ?? turnOf(answer);
  const end = following.findIndex((entry) => !isInput(entry) && turnOf(entry) !== own);
  return [...entries.slice(first, question + 1), ...(end < 0 ? following : following.slice(0, end))];
}

function turnOf({ record }: StoredEntry): string | undefined {
  return metaOf(record).turn;
}

function isInput({ message }: StoredEntry): boolean {
  return roleOf(message) === "human" || roleOf(message) === "system";
}

/**
 * True if the second read did not find a turn outside the view that the first one reported: it was removed in between,
 * or lost in a failover. Prevents a model call without its question.
 */
function isRemoved(
  { stored: { turn, base, start } }: DecodedView,
  parts: {
    readonly stored: readonly StoredEntry[];
    readonly place: InputPlace | undefined;
    readonly positions: ReadonlyMap<string, number>;
  },
): boolean {
  const { stored, place: { last } = { last: -1 }, positions } = parts;
  if (turn !== undefined) {
    return turn.first >= base && turn.first < start && stored.length !== turn.count;
  }
  const expected = new Set([...positions].flatMap(([id, position]) => (position === last ? [id] : [])));
  const isFound = stored.some(({ message }) => expected.has(message.id ?? ""));
  return last >= base && last < start && expected.size > 0 && !isFound;
}

async function entriesFrom(session: ConversationSession, view: DecodedView, first: number): Promise<StoredEntry[]> {
  if (first >= view.stored.start) {
    return view.all.filter(({ position }) => position !== undefined && position >= first);
  }
  return [...inTurnOrder(await session.readEntries({ from: first }))];
}

function stateOf(own: readonly StoredEntry[], mark: TurnMark | undefined): TurnState {
  const last = own.at(-1)?.message;
  if (mark?.done) {
    return "stored";
  }
  if (last === undefined) {
    return "new";
  }
  return isInterrupted(last) ? "interrupted" : mark === undefined && isAnswer(last) ? "stored" : "open";
}

/** True if a reduction discarded the turn's question, so that only (a part of) its answer is in the log. */
function lacksQuestion({ stored: { turn, base } }: DecodedView, own: readonly StoredEntry[]): boolean {
  return turn !== undefined && turn.first < base && own.length > 0 && answerStart(own) === 0;
}

/** The block of user messages that ends with the input's question. */
function questionIn(input: readonly BaseMessage[]): BaseMessage[] {
  const question = input.findLastIndex((message) => roleOf(message) === "human");
  const block = question < 0 ? [] : input.slice(firstOfBlock(input, question), question + 1);
  return block.filter((message) => roleOf(message) === "human");
}

/** The input that is not stored: all or nothing, whatever ids and texts a retry sends. */
function unstored(input: readonly BaseMessage[], isAsked: boolean): BaseMessage[] {
  return isAsked ? input.filter((message) => roleOf(message) === "tool") : [...input];
}

function hasQuestion(own: readonly StoredEntry[]): boolean {
  return own.some(({ message }) => roleOf(message) === "human");
}

/** The view before the turn; for a turn that left the view, the transcript before it. */
async function beforeOwn({
  session,
  view,
  own,
}: Omit<OwnRequest, "turnId" | "place"> & { own: readonly StoredEntry[] }) {
  const first = own[0]?.position ?? Infinity;
  if (first >= view.stored.start) {
    const at = view.entries === view.all ? view.all.findIndex(({ position }) => position === first) : -1;
    const isEarlier = ({ position = -1 }: StoredEntry, index: number) => (at < 0 ? position < first : index < at);
    return view.entries.filter(isEarlier).map(({ message }) => message);
  }
  const { base } = view.stored;
  if (first <= base) {
    return [];
  }
  const entries = await session.readEntries({ from: base, limit: first - base });
  return withoutRefusedEntries(inTurnOrder(entries)).map(({ message }) => message);
}

/**
 * Opens a turn: by the write of its question with `persist: "step"`, where that tells whether it is new, else by a
 * read.
 */
export function openAs(
  { history, session, turnId, policy, isRewritten = false }: TurnSetting,
  { messages, changed = [], written = messages }: TurnInput,
): Promise<OpenTurn> {
  const request = { history, session, turnId, changed, isRewritten };
  return policy.persist === "step" && canOpenByWriting(written) && canOpenByWriting(messages)
    ? openByWriting({ input: written, ...request })
    : openTurn({ input: messages, ...request });
}

/** A turn opened by the write of its input. */
interface OpeningWrite extends TurnRequest {
  readonly history: AppendHistory;
}

/** True if the write itself detects a repetition of the input: one user message. Other inputs require a read first. */
export function canOpenByWriting(input: readonly BaseMessage[]): boolean {
  return input.length === 1 && roleOf(input[0]!) === "human";
}

/**
 * Writes the input and reads the view atomically. A turn that is stored, even in part, is not written, and is opened as
 * by `openTurn`. One round trip; one more for a turn outside the view, and for a message that was stored without the
 * turn's name.
 */
export async function openByWriting({ history, ...request }: OpeningWrite): Promise<OpenTurn> {
  const { session, turnId, input } = request;
  const { appended, next, storedTurn, view } = await writeTurn(history, input, {
    turn: { done: false, opens: true, returnView: true },
    ...(turnId !== undefined && { turnId }),
  });
  if (view === undefined || (storedTurn === undefined && appended === 0)) {
    return openTurn(request);
  }
  if (storedTurn !== undefined) {
    const { done, count, first } = storedTurn;
    return openFromView(request, session.decode({ ...view, turn: { done, count, first } }));
  }
  const first = next - appended;
  const mark = turnId === undefined ? {} : { turn: { done: false, count: appended, first } };
  const decoded = session.decode({ ...view, ...mark });
  const earlier = decoded.entries.filter(({ position }) => position === undefined || position < first);
  const read = { view: decoded, history: earlier.map(({ message }) => message) };
  return { state: "new", stored: [], isQuestionGone: false, newMessages: [], written: input, turn: input, ...read };
}
