import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { throwOnErrors, validateConversation } from "../../structure/validate.js";
import type { TurnData } from "../stored/session-data.js";
import type { StoredHistory } from "../stored/stored-history.js";
import { keptSources, resultMessage, storedBody } from "./tool-results.js";
import type { Turn } from "./turn.js";

/** What a turn stores, and the numbers of the sources that it does not store. */
export interface TurnRecord {
  readonly messages: BaseMessage[];
  readonly data: TurnData;
  readonly uncited: number[];
}

/** What `recordTurn` needs besides the turn. */
export interface RecordRequest {
  readonly turnId: string;
  /** Whether the user's message is stored already, or was; then it is not stored again. */
  readonly stored: Pick<StoredHistory, "current" | "isAsked">;
  /** Numbers of the sources that the turn's texts cite; undefined if it has no text. */
  readonly cited: ReadonlySet<number> | undefined;
}

/**
 * Returns the whole turn in its stored form: the original user message, every call with its result, and the answer,
 * with the cited sources.
 *
 * @throws StructureError if a call has no result, because every later model call would fail.
 */
export function recordTurn(turn: Turn, { turnId, stored, cited }: RecordRequest): TurnRecord {
  const messages = turn.steps.flatMap(({ asAdded, results }) => [
    asAdded,
    ...results.flatMap((result) => (result === undefined ? [] : [resultMessage(result, storedBody(result, cited))])),
  ]);
  throwOnErrors(
    validateConversation(messages, { purpose: "model-input" }).filter(({ rule }) => openCallRules.has(rule)),
  );
  const { originalUserMessage } = turn;
  const userMessage =
    !stored.isAsked && originalUserMessage !== undefined
      ? new HumanMessage({ content: originalUserMessage, id: `${turnId}-0` })
      : undefined;
  const messageId = (stored.current ?? userMessage)?.id;
  const uploads = [...turn.uploads.values()].map((upload) => ({
    ...(messageId !== undefined && { messageId }),
    ...upload,
  }));
  const references = turn.results().flatMap((result) => keptSources(result, cited));
  const kept = new Set(references);
  return {
    messages: userMessage === undefined ? messages : [userMessage, ...messages],
    data: { uploads, removedUploads: [...turn.removedUploads], references },
    uncited: turn
      .results()
      .flatMap(({ sources }) => sources.flatMap((source) => (kept.has(source) ? [] : [source.sourceNumber]))),
  };
}

const openCallRules: ReadonlySet<string> = new Set(["S08", "S10", "S30"]);
