import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { throwOnErrors, validateConversation } from "../../structure/validate.js";
import type { TurnData } from "../stored/session-data.js";
import type { StoredHistory } from "../stored/history.js";
import { resultMessage, storedBody, storedSources } from "./tool-results.js";
import type { Turn } from "./turn.js";
import { withToolImages } from "../stored/tool-images.js";
import type { Upload, UploadLimits } from "../stored/uploads.js";
import { writeTurn, type TurnOutcome, type TurnSettings } from "../../session/append-options.js";
import type { RedisChatMessageHistory } from "../../memory/redis-chat-message-history.js";
import { replacedTail } from "../../session/turn-messages.js";
import { isInterrupted } from "../../codec/message-ids.js";
import type { StoredForms } from "../../session/stored-forms.js";
import type { SideChanges } from "../../store/side-fields.js";
import type { OpenTurn } from "../../turns/open-turn.js";

/** The messages and side data that a turn stores. */
export interface TurnRecord {
  readonly messages: BaseMessage[];
  readonly data: TurnData;
}

/** Parameters of `recordTurn` besides the turn. */
export interface RecordRequest {
  readonly turnId: string;
  /** Whether the user's message is stored already, or was; then it is not stored again. */
  readonly stored: Pick<StoredHistory, "current" | "isAsked">;
  /** The uploads that are stored, and how large they may become. */
  readonly uploads: { readonly stored: readonly Upload[]; readonly limits: UploadLimits };
  /** Numbers of the sources that the turn's texts cite. */
  readonly cited: ReadonlySet<number>;
  /** Forms made by the memory's `beforeStore`, which the sources get here; the messages get theirs when written. */
  readonly forms: StoredForms | undefined;
}

/**
 * Returns the whole turn in its stored form: the original user message, every call with its result, and the answer,
 * with all sources that were found.
 *
 * @throws StructureError if a call has no result, because every later model call would fail; RecordError `refused`.
 */
export async function recordTurn(turn: Turn, request: RecordRequest): Promise<TurnRecord> {
  const { turnId, stored, uploads: known, cited, forms } = request;
  const messages = turn.steps.flatMap(({ asAdded, results }) => [
    asAdded,
    ...results.flatMap((result) => (result === undefined ? [] : [resultMessage(result, storedBody(result, cited))])),
  ]);
  refuseOpenCalls(messages);
  const { originalUserMessage } = turn;
  const userMessage =
    !stored.isAsked && originalUserMessage !== undefined
      ? new HumanMessage({ content: originalUserMessage, id: `${turnId}-0` })
      : undefined;
  const results = turn.results();
  const messageId = (stored.current ?? userMessage)?.id;
  const kept = withToolImages(turn.uploadsWith(known.stored), {
    turnId,
    results,
    limits: known.limits,
  });
  const uploads = [...turn.uploads.values(), ...kept.added].map((upload) => ({
    ...(messageId !== undefined && { messageId }),
    ...upload,
  }));
  const references = (await Promise.all(results.map((result) => storedSources(result, forms)))).flat();
  return {
    messages: userMessage === undefined ? messages : [userMessage, ...messages],
    data: { uploads, removedUploads: [...turn.removedUploads, ...kept.removed], references },
  };
}

const openCallRules: ReadonlySet<string> = new Set(["S08", "S10", "S30"]);

/**
 * Refuses messages in which a call waits for its result; what else a model would refuse, a repair changes.
 *
 * @throws StructureError
 */
export function refuseOpenCalls(messages: readonly BaseMessage[]): void {
  throwOnErrors(
    validateConversation(messages, { purpose: "model-input" }).filter(({ rule }) => openCallRules.has(rule)),
  );
}

/** A turn to store. */
interface TurnCommit {
  readonly turnId: string;
  readonly record: TurnRecord;
  readonly side: SideChanges;
  /** The stored part of the turn when it was read; undefined where the name was not known then. */
  readonly opened: OpenTurn | undefined;
}

/** Writes a turn once: whole, behind the part of it that is stored, or in the place of an interrupted answer. */
export function commitTurn(history: RedisChatMessageHistory, commit: TurnCommit): Promise<TurnOutcome> {
  const { turnId, record, side } = commit;
  return writeTurn(history, record.messages, { turnId, side, turn: writeOf(commit) });
}

function writeOf({ turnId, record, opened }: TurnCommit): TurnSettings {
  const last = record.messages.at(-1);
  // A run that was stopped leaves its turn open, so that the answer of a retry takes the place of the interrupted one.
  const done = last === undefined || !isInterrupted(last);
  const stored = opened?.view.stored.turn?.count ?? 0;
  // The record of a turn that was stored when it was read lacks the question: if another has removed the turn
  // since, the answer alone must not be stored.
  if (opened?.state === "open" || opened?.state === "stored") {
    return { done, stored };
  }
  if (opened?.state !== "interrupted") {
    return { done };
  }
  return { done, stored, cut: replacedTail({ own: opened.stored, read: opened.view.stored, turnId }) };
}
