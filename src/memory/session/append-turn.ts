import { maxTries } from "../../base/bounds.js";
import type { BaseMessage } from "@langchain/core/messages";
import { identifyRecord } from "../../store/codec/stored-record.js";
import { isInterrupted, refusedMarkOf, roleOf } from "../../conversation/messages/message.js";
import { turnNameOf } from "../../store/codec/encode-message.js";
import { ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { mayCall } from "../../conversation/messages/content.js";
import { limitAt } from "../../conversation/reducers/reduce-when.js";
import { isResent, ownerMark } from "../../store/contract/append-decision.js";
import type { ViewLimit } from "../../conversation/reducers/chat-history-reducer.js";
import type {
  AppendRequest,
  AppendResult,
  NewRecord,
  RewindRequest,
  StoredTurn,
} from "../../store/contract/session-writes.js";
import { sessionLabel } from "../../store/contract/refusals.js";
import { prepareMessages, messageOf, recordsOf } from "./append-input.js";
import type { TurnAppendOptions, TurnOutcome, TurnSettings, CopiedMessage } from "./append-input.js";
import type { SessionOfMemory } from "./memory-context.js";
import { replacedTail, answerStart, messagesOfTurn, wholeTurn } from "./turn-messages.js";

/** Appends what `make` returns, made again for each try, and rebuilds a damaged session with `onDamage: "rebuild"`. */
export type Write = (make: () => AppendRequest) => Promise<AppendResult>;

/** Result of one attempt of an append. */
interface Written {
  readonly result: AppendResult;
  readonly records: readonly NewRecord[];
}

/** The remaining messages of a turn, and their index. */
interface Rest {
  readonly messages: readonly CopiedMessage[];
  readonly stored: number;
  /** Index in the turn of the first message, for ids. */
  readonly offset: number;
  readonly cut: RewindRequest | undefined;
}

/** The store's reply to one try, with the whole turn if needed. */
export type AppendReply =
  | "stale"
  | {
      readonly result: AppendResult;
      /** True if the stored turn ends with exactly the records of this try. */
      readonly isOwn?: boolean;
    };

/** Next step of an append after a reply: the outcome, or another try with the rest of a partly stored turn. */
export type AppendStep =
  | {
      readonly is: "done";
      readonly outcome: TurnOutcome;
      /** True if the try wrote its records. */
      readonly isWritten?: boolean;
      readonly event?: "repeated" | "not stored";
    }
  | { readonly is: "again"; readonly turn: StoredTurn };

/** Decision table for the next step of an append by its settings; the first matching row applies. */
export function nextStep(settings: TurnSettings | undefined, reply: AppendReply): AppendStep {
  const { stored = 0, cut, opens = false, triesAgain = false, returnView = false } = settings ?? {};
  if (reply === "stale") {
    return refusal("overtaken", { next: 0, isTold: !triesAgain });
  }
  const { appended, duplicates, next, turn, view } = reply.result;
  const outcome = { appended, duplicates, next, repeated: false };
  if (turn === undefined) {
    return { is: "done", outcome, isWritten: true };
  }
  if (opens) {
    return { is: "done", outcome: { ...outcome, storedTurn: turn, ...(view && { view }) } };
  }
  if (turn.done) {
    const fields = settings === undefined ? {} : { storedTurn: turn, ...(returnView && view && { view }) };
    return { is: "done", outcome: { ...outcome, repeated: true, ...fields }, event: "repeated" };
  }
  if (turn.same || reply.isOwn) {
    return { is: "done", outcome: { ...outcome, ...(settings && { turnCount: turn.count }) } };
  }
  if (stored > 0 || cut !== undefined) {
    return refusal(turn.count < stored ? "forgotten" : "overtaken", { next, isTold: true });
  }
  return { is: "again", turn };
}

function refusal(
  refused: "forgotten" | "overtaken",
  { next, isTold }: { readonly next: number; readonly isTold: boolean },
): AppendStep {
  const outcome = { appended: 0, duplicates: 0, next, repeated: false, refused };
  return { is: "done", outcome, ...(isTold && { event: "not stored" as const }) };
}

/** The outcome of an append; `written` if this one wrote its records. */
export interface Appended {
  readonly outcome: TurnOutcome;
  readonly written?: Written;
}

/** Messages to append, and what makes the caller's result, in the promise of the append itself. */
interface Append<Done> {
  readonly messages: readonly BaseMessage[];
  readonly options: TurnAppendOptions;
  readonly finish: (appended: Appended) => Done | Promise<Done>;
}

/**
 * Appends messages, as a turn if they have its name. If another try stored a part of the turn, adds only the rest, and
 * replaces the answer of a stopped run.
 */
export async function appendTurn<Done>(
  target: SessionOfMemory,
  write: Write,
  { messages: input, options, finish }: Append<Done>,
): Promise<Done> {
  const { stored = 0, cut } = options.turn ?? {};
  const last = Array.isArray(input) ? (input.at(-1) as BaseMessage | undefined) : undefined;
  const limit = reductionLimit(target, last, options);
  const prepared = prepareMessages(target, input, options);
  const messages = prepared instanceof Promise ? await prepared : prepared;
  let rest: Rest = { messages, stored, offset: stored, cut };
  for (let attempt = 1; attempt <= maxTries.write; attempt += 1) {
    const tried: AppendTry = { write, rest, options, limit, records: [] };
    const result = await send(target, tried);
    const written = result === "stale" ? result : { result, records: tried.records };
    const isStored = written !== "stale" && written.result.turn !== undefined;
    const step = nextStep(options.turn, isStored ? await replyOf(target, written, options) : written);
    if (step.is === "done") {
      tell(target, options, step);
      const { outcome } = step;
      const isWritten = step.isWritten && written !== "stale";
      return finish(isWritten ? { outcome: counted(outcome, options, rest), written } : { outcome });
    }
    rest = await restOf(target, { messages, turn: step.turn, turnId: options.turnId! });
  }
  const message = `append: other processes wrote to this turn during each of ${maxTries.write} tries; try again.`;
  throw new ConflictError(message, { code: "stale", sessionId: target.sessionId });
}

/** The error for a turn whose interrupted answer would be replaced if others had not written behind it. */
function overtaken(sessionId: string): ConflictError {
  const message =
    `append: others wrote to ${sessionLabel(sessionId)} behind the interrupted answer of this turn, so it cannot be ` +
    "replaced; nothing was written. Append the messages under another turnId.";
  return new ConflictError(message, { code: "position", sessionId });
}

/** Reports a repetition or omission, because the outcome looks like a success; throws it where no turn goes on. */
function tell(
  { ref, context }: SessionOfMemory,
  { turnId, turn }: TurnAppendOptions,
  step: AppendStep & { is: "done" },
): void {
  const { event, outcome } = step;
  if (event === "repeated") {
    report(context.onEvent, { type: "turn_repeated", sessionId: ref.id, turnId });
  } else if (event === "not stored") {
    report(context.onEvent, { type: "turn_not_stored", sessionId: ref.id, turnId, reason: outcome.refused! });
  }
  if (turn === undefined && outcome.refused !== undefined) {
    throw overtaken(ref.id);
  }
}

/** The reply for a stored turn, with all its records if they are needed: others may have written between them. */
async function replyOf(
  target: SessionOfMemory,
  { result, records }: Written,
  { turn, turnId }: TurnAppendOptions,
): Promise<AppendReply> {
  const stored = result.turn!;
  const isNeeded = !turn?.opens && !stored.same && (turn !== undefined || !stored.done);
  const whole = isNeeded ? await wholeTurn(target, stored, turnId!) : stored;
  const last = whole.records.slice(-records.length).map((record) => identifyRecord(record));
  return { result: { ...result, turn: whole }, isOwn: isResent(last, records) };
}

/** The limit above which the append is to return the view for a reduction; undefined if none is to follow. */
function reductionLimit(
  { context }: SessionOfMemory,
  last: BaseMessage | undefined,
  { turn }: TurnAppendOptions,
): ViewLimit | undefined {
  const { reducer, reduceWhen } = context;
  const isReduced = reducer !== undefined && reduceWhen !== "never" && turn?.reduce !== false;
  return isReduced ? limitAt(reducer, { reduceWhen, last }) : undefined;
}

interface AppendTry {
  readonly write: Write;
  readonly rest: Rest;
  readonly options: TurnAppendOptions;
  readonly limit: ViewLimit | undefined;
  /** The records that were sent last. */
  records: readonly NewRecord[];
}

function send(session: SessionOfMemory, tried: AppendTry): "stale" | Promise<AppendResult | "stale"> {
  const { write, rest } = tried;
  const { cut } = rest;
  if (cut !== undefined && rest.messages.length === 0) {
    return "stale";
  }
  const make = () => {
    const request = requestOf(session, rest, tried);
    tried.records = request.records;
    return request;
  };
  return cut === undefined ? write(make) : session.context.store.edits.replaceTail(session.ref, { ...make(), cut });
}

/** The append request. One literal: objects put together piece by piece cost more. */
function requestOf(
  { ref, context }: SessionOfMemory,
  rest: Rest,
  { options, limit }: Pick<AppendTry, "options" | "limit">,
): AppendRequest {
  const { turnId, expectedNext, side, turn } = options;
  const { tokenCounter, ttlMs } = context;
  const name = turnId !== undefined ? turnNameOf(turnId) : undefined;
  const owner = ref.owner === undefined ? undefined : ownerMark(ref.owner);
  const meta = { at: Date.now(), turn: name, output: turn?.output, owner };
  const place = { turnId, offset: rest.offset, meta };
  return {
    records: recordsOf(rest.messages, { counterId: tokenCounter?.id, tracksUsage: context.trackUsage, ...place }),
    onConflict: turn?.opens ? "keep" : turn?.refusesKnown ? "error" : context.onConflict,
    ttlMs,
    expectedNext,
    side,
    counter: tokenCounter?.id,
    viewLimit: turn?.returnView ? { messages: 0 } : limit,
    turn: name === undefined ? undefined : { name, stored: rest.stored, done: turn?.done ?? true },
    release: turn?.release,
  };
}

/** The messages that a retry adds to a partly stored turn. */
async function restOf(
  { ref, context }: SessionOfMemory,
  { messages, turn, turnId }: { messages: readonly CopiedMessage[]; turn: StoredTurn; turnId: string },
): Promise<Rest> {
  const own = messagesOfTurn(turn, turnId);
  const stored = own.map(({ message }) => message).filter((message) => refusedMarkOf(message) === undefined);
  const last = stored.at(-1);
  if (last === undefined || !isInterrupted(last) || own.length < turn.count) {
    const skipped = sharedLength(messages, stored);
    return { messages: messages.slice(skipped), stored: turn.count, offset: turn.count, cut: undefined };
  }
  const cut = replacedTail({ own, read: await context.store.readView(ref), turnId });
  const answer = answerStart(own);
  const skipped = sharedLength(messages, stored.slice(0, answer));
  return { messages: messages.slice(skipped), stored: turn.count, offset: answer, cut };
}

/**
 * Number of stored messages at the turn's beginning, compared by role because a retry has other ids and texts. An
 * answer does not stand for a step: a retry may do without it.
 */
function sharedLength(messages: readonly CopiedMessage[], stored: readonly BaseMessage[]): number {
  let [index, place] = [0, 0];
  while (index < messages.length && place < stored.length) {
    const [message, other] = [messageOf(messages[index]!), stored[place]!];
    const [role, storedRole] = [roleOf(message), roleOf(other)];
    const isSame = role === storedRole && mayCall(message) === mayCall(other);
    const isInput = role === "human" || role === "system";
    // A question that is not among the turn's records was stored before, under its own id.
    if (!isSame && !(isInput && storedRole === "ai")) {
      break;
    }
    index += 1;
    place += isSame ? 1 : 0;
  }
  return index;
}

/** With the turn's number of records, for callers with several steps; a cut keeps those before it. */
function counted(outcome: TurnOutcome, { turn, turnId }: TurnAppendOptions, { stored, cut }: Rest): TurnOutcome {
  if (turn === undefined || turnId === undefined) {
    return outcome;
  }
  const name = turnNameOf(turnId);
  const { removed = 0 } = cut?.turns?.find((lessened) => lessened.name === name) ?? {};
  return { turnCount: Math.max(0, stored - removed) + outcome.appended, ...outcome };
}
