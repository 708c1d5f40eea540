import type { BaseMessage } from "@langchain/core/messages";
import { fieldsOf, stringIn } from "../messages/values.js";
import { prefixKey, stampAnswer, walkLedger } from "../structure/ledger/walk-ledger.js";
import { bindsThoughts } from "../structure/profiles/of-model.js";
import type { ModelInput, RequestObserver } from "../structure/seam/model-input.js";
import { reportDropped } from "../structure/seam/model-input.js";

/**
 * The input for a model out of sight: thoughts of a model that binds them, as their answers tell, go only behind the
 * messages that they were made to. A change of what the hidden prompt adds is not seen here.
 */
export function withFittingThoughts({ history, turn }: ModelInput, observer: RequestObserver): ModelInput {
  const sent = [...history, ...turn];
  if (!sent.some(isBound)) {
    return { history, turn };
  }
  const walk = walkLedger(sent);
  reportDropped(walk, sent, observer);
  return { history: walk.messages.slice(0, history.length), turn: walk.messages.slice(history.length) };
}

/** The answers to a request, those of a model that binds its thoughts with their stamp. */
export function stampedAnswers(answers: readonly BaseMessage[], sent: readonly BaseMessage[]): BaseMessage[] {
  const [first, ...others] = answers;
  const isStamped = first !== undefined && isBound(first) && fieldsOf(first.response_metadata)[prefixKey] === undefined;
  return isStamped ? [stampAnswer(first, walkLedger(sent).prefix), ...others] : [...answers];
}

function isBound({ response_metadata }: BaseMessage): boolean {
  const { model, model_name: name } = fieldsOf(response_metadata);
  return bindsThoughts(stringIn(model) ?? stringIn(name));
}
