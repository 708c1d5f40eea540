import type { BaseMessage } from "@langchain/core/messages";
import { identifyRecord, isInterrupted } from "../codec/message-ids.js";
import { turnNameOf } from "../codec/record-meta.js";
import { ConflictError } from "../base/errors.js";
import { report } from "../base/events.js";
import { roleOf } from "../messages/roles.js";
import { hasCapability } from "../store/capabilities.js";
import type { AppendRequest, AppendResult, NewRecord, RewindRequest } from "../store/session-writes.js";
import type { StoredTurn } from "../store/turns.js";
import type { AppendOptions, AppendOutcome } from "./append-options.js";
import { prepareMessages } from "./count-copies.js";
import { messageOf, recordsOf, type CopiedMessage } from "./encode-records.js";
import type { SessionOfMemory } from "./session-of-memory.js";
import { replacedTail } from "./replaced-tail.js";
import { answerStart, messagesOfTurn, wholeTurn } from "./turn-messages.js";

const attempts = 5;

/** Appends, and rebuilds a damaged session where the options say so. */
export type Write = (request: AppendRequest) => Promise<AppendResult>;

/** What one try of an append did. */
interface Written {
  readonly result: AppendResult;
  readonly records: readonly NewRecord[];
}

/** What is still to be stored of a turn, and where. */
interface Rest {
  readonly messages: readonly CopiedMessage[];
  readonly stored: number;
  /** Index in the turn of the first message, for ids. */
  readonly offset: number;
  readonly cut: RewindRequest | undefined;
}

/**
 * Appends messages, as a turn where they have a name for it. Of a turn that is stored in part, which the writer did not
 * know, only the rest is added; the answer of a run that was stopped is replaced.
 */
export async function appendTurn(
  target: SessionOfMemory,
  write: Write,
  { messages: given, options }: { readonly messages: readonly BaseMessage[]; readonly options: AppendOptions },
): Promise<AppendOutcome & { readonly written?: Written }> {
  const { stored = 0, cut } = options.turn ?? {};
  const messages = await prepareMessages(target, given, options);
  let rest: Rest = { messages, stored, offset: stored, cut };
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const written = await tryAppend(target, { write, rest, options });
    if (written === "stale") {
      if (options.turn?.triesAgain) {
        return { appended: 0, duplicates: 0, next: 0, repeated: false, refused: "overtaken" };
      }
      return refused(target, options, "overtaken");
    }
    const { records } = written;
    const result = await withWholeTurn(target, written.result, options);
    if (result.turn !== undefined && options.turn?.opens) {
      return { ...outcomeOf(result), storedTurn: result.turn, ...(result.view && { view: result.view }) };
    }
    if (result.turn === undefined) {
      return { ...outcomeOf(result), ...countOfTurn(options, rest, result), written };
    }
    if (result.turn.done) {
      report(target.context.onEvent, { type: "turn_repeated", sessionId: target.sessionId, turnId: options.turnId! });
      const view = result.view && options.turn?.returnView ? { view: result.view } : {};
      return { ...outcomeOf(result), repeated: true, ...(options.turn && { storedTurn: result.turn, ...view }) };
    }
    if (result.turn.same || isOwnWrite(result.turn, records)) {
      return { ...outcomeOf(result), ...(options.turn && { turnCount: result.turn.count }) };
    }
    if (stored > 0 || cut !== undefined) {
      return refused(target, options, result.turn.count < stored ? "forgotten" : "overtaken", result.next);
    }
    rest = await restOf(target, { messages, turn: result.turn, turnId: options.turnId! });
  }
  const message = "append: other processes kept writing to this turn; try again.";
  throw new ConflictError(message, { code: "stale", sessionId: target.sessionId });
}

async function tryAppend(
  { ref, context }: SessionOfMemory,
  { write, rest, options }: { readonly write: Write; readonly rest: Rest; readonly options: AppendOptions },
): Promise<Written | "stale"> {
  const { turnId, expectedNext, side, turn } = options;
  const { store, clock, tokenCounter, reducer, autoReduce, ttlMs } = context;
  const name = turnId !== undefined && hasCapability(store, "turns") ? turnNameOf(turnId) : undefined;
  const meta = {
    at: clock.now(),
    ...(name !== undefined && { turn: name }),
    ...(turn?.output && { output: turn.output }),
  };
  const place = { turnId, offset: rest.offset, meta };
  const records = recordsOf(rest.messages, { counterId: tokenCounter?.id, tracksUsage: context.trackUsage, ...place });
  const limit = autoReduce === false || turn?.reduce === false ? undefined : reducer?.viewLimit;
  const request: AppendRequest = {
    records,
    onConflict: turn?.keepStored || turn?.opens ? "keep" : context.onConflict,
    ...(ttlMs !== undefined && { ttlMs }),
    ...(expectedNext !== undefined && { expectedNext }),
    ...(side && { side }),
    ...(tokenCounter && { counter: tokenCounter.id }),
    ...(turn?.returnView ? { viewLimit: { messages: 0 } } : limit && { viewLimit: limit }),
    ...(name !== undefined && { turn: { name, stored: rest.stored, done: turn?.done ?? true } }),
  };
  const sent = Date.now();
  if (rest.cut === undefined) {
    const result = await write(request);
    clock.note(result.time, sent);
    return { result, records };
  }
  if (records.length === 0 || !hasCapability(store, "replaceTail")) {
    return "stale";
  }
  const result = await store.replaceTail(ref, { ...request, cut: rest.cut });
  return result === "stale" ? result : { result, records };
}

/** The result with all records of a turn that is needed further: others may have written between them. */
async function withWholeTurn(target: SessionOfMemory, result: AppendResult, { turn, turnId }: AppendOptions) {
  const { done = true, same } = result.turn ?? {};
  const isNeeded = result.turn !== undefined && !turn?.opens && !same && (turn !== undefined || !done);
  return isNeeded ? { ...result, turn: await wholeTurn(target, result.turn!, turnId!) } : result;
}

/** True if the turn ends with the very records of this call: its reply was lost, and the client sent it again. */
function isOwnWrite({ records }: StoredTurn, own: readonly NewRecord[]): boolean {
  const stored = records.slice(-own.length).map((record) => identifyRecord(record));
  const isSame = ({ id, digest }: NewRecord, index: number) =>
    stored[index]?.id === id && stored[index]?.digest === digest;
  return own.length > 0 && stored.length === own.length && own.every(isSame);
}

/** What a retry that begins anew has to add to a turn of which a part is stored. */
async function restOf(
  { ref, context }: SessionOfMemory,
  { messages, turn, turnId }: { messages: readonly CopiedMessage[]; turn: StoredTurn; turnId: string },
): Promise<Rest> {
  const own = messagesOfTurn(turn, turnId);
  const stored = own.map(({ message }) => message);
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

/** How many of the messages that begin a turn are stored: by their roles, since a retry has other ids and texts. */
function sharedLength(messages: readonly CopiedMessage[], stored: readonly BaseMessage[]): number {
  let [index, found] = [0, 0];
  while (index < messages.length && found < stored.length) {
    const [role, storedRole] = [roleOf(messageOf(messages[index]!)), roleOf(stored[found]!)];
    const isInput = role === "human" || role === "system";
    // A question that is not among the turn's records was stored before, under its own id.
    if (role !== storedRole && !(isInput && storedRole === "ai")) {
      break;
    }
    index += 1;
    found += role === storedRole ? 1 : 0;
  }
  return index;
}

function refused(
  { sessionId, context }: SessionOfMemory,
  { turnId }: AppendOptions,
  reason: "forgotten" | "overtaken",
  next = 0,
): AppendOutcome {
  report(context.onEvent, { type: "turn_not_stored", sessionId, turnId, reason });
  return { appended: 0, duplicates: 0, next, repeated: false, refused: reason };
}

/** How many records the turn has now, for those who write it in several steps; a cut leaves those before it. */
function countOfTurn({ turn, turnId }: AppendOptions, { stored, cut }: Rest, { appended }: AppendResult) {
  if (turn === undefined || turnId === undefined) {
    return {};
  }
  const name = turnNameOf(turnId);
  const left = cut === undefined ? stored : (cut.turns?.find((remainder) => remainder.name === name)?.count ?? 0);
  return { turnCount: left + appended };
}

function outcomeOf({ appended, duplicates, next }: AppendResult): AppendOutcome {
  return { appended, duplicates, next, repeated: false };
}
