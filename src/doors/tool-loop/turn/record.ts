import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { throwOnErrors, validateConversation } from "../../../conversation/structure/validate.js";
import type { TurnData, StoredHistory } from "../stored/stored-session.js";
import { resultMessage, storedBody, storedSources } from "./tool-results.js";
import type { LoopTurn } from "./turn.js";
import type { StoredForms } from "../../../memory/session/stored-forms.js";

/** The messages and side data that a turn stores. */
export interface TurnRecord {
  readonly messages: BaseMessage[];
  readonly data: TurnData;
}

/** Parameters of `recordTurn` besides the turn. */
export interface RecordRequest {
  /** Whether the user's message is stored already, or was; then it is not stored again. */
  readonly stored: Pick<StoredHistory, "current" | "isAsked">;
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
export async function recordTurn(turn: LoopTurn, request: RecordRequest): Promise<TurnRecord> {
  const { stored, cited, forms } = request;
  const { originalUserMessage, name: turnId } = turn;
  const messages = turn.steps.flatMap(({ message, results }) => [
    message,
    ...results.flatMap((result) => (result === undefined ? [] : [resultMessage(result, storedBody(result, cited))])),
  ]);
  refuseOpenCalls(messages);
  const userMessage =
    !stored.isAsked && originalUserMessage !== undefined
      ? new HumanMessage({ content: originalUserMessage, id: `${turnId}-0` })
      : undefined;
  const messageId = (stored.current ?? userMessage)?.id;
  const uploads = [...turn.uploads.values()].map((upload) => ({
    ...(messageId !== undefined && { messageId }),
    ...upload,
  }));
  const references = (await Promise.all(turn.results().map((result) => storedSources(result, forms)))).flat();
  return {
    messages: userMessage === undefined ? messages : [userMessage, ...messages],
    data: { uploads, removedUploads: [...turn.removedUploads], references },
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
