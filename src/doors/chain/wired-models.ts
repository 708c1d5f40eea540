import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseMessage } from "@langchain/core/messages";
import type { Runnable } from "@langchain/core/runnables";
import { report } from "../../base/events.js";
import { editMessage } from "../../conversation/messages/copies/edit-message.js";
import { isSignedThought } from "../../conversation/messages/copies/thoughts.js";
import { blocksOf } from "../../conversation/messages/content.js";
import { fieldsOf, isRecord, stringIn } from "../../conversation/messages/message.js";
import { Wired, type WiredRequest } from "../../conversation/reducers/wired.js";
import type { ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import { resolveProfile } from "../../conversation/structure/options.js";
import { bindsThoughts } from "../../conversation/structure/profiles/built-in-profiles.js";
import type { ModelInput, ModelPlan, RequestObserver } from "../../conversation/structure/seam/model-input.js";

/** A turn of a chain whose models are to be wired. */
export interface TurnToWire extends Pick<ModelPlan, "profile">, RequestObserver {
  readonly runnable: unknown;
  /** The profile of the chain or of its memory. */
  readonly named: ProfileChoice;
}

/**
 * The runnable with wired models, and its input. Where a model that binds its thoughts cannot be wired, they are left
 * out: nobody can say behind which prompt they were made, and a wrong one is refused.
 */
export function wiredTurn(
  input: ModelInput,
  { runnable, profile, named, sessionId, onEvent }: TurnToWire,
): { readonly runnable: unknown; readonly input: ModelInput } {
  const ownProfile = named === "auto" ? undefined : resolveProfile("withRedisMemory", named);
  const wired = withWiredModels(runnable, { sessionId, onEvent, profile: ownProfile });
  if (wired.hasWired || !profile.bindsThoughts) {
    return { runnable: wired.runnable, input };
  }
  return { runnable, input: withoutThoughts(input, { sessionId, onEvent }, () => true) };
}

/** The input without the thoughts of the answers of models that bind them, as their names tell; or of other ones. */
export function withoutThoughts(
  { history, turn }: ModelInput,
  { sessionId, onEvent }: RequestObserver,
  isBound = ({ response_metadata }: BaseMessage) => {
    const { model, model_name: name } = fieldsOf(response_metadata);
    return bindsThoughts(stringIn(model) ?? stringIn(name));
  },
): ModelInput {
  const isGone = (message: BaseMessage) => isBound(message) && blocksOf(message).some(isSignedThought);
  const edited = (messages: BaseMessage[]) =>
    messages.map((message) => (isGone(message) ? editMessage(message, { thoughts: "remove" }) : message));
  if ([...history, ...turn].some(isGone)) {
    report(onEvent, { type: "repaired", sessionId, rules: ["S32"] });
  }
  return { history: edited(history), turn: edited(turn) };
}

/** A chain's runnable, each of whose models gets its requests as `toModel` makes them. */
interface WiredChain {
  readonly runnable: unknown;
  /** False if no model was found that can be wired: of an agent, for example. */
  readonly hasWired: boolean;
}

/** LangChain's own classes around models, which can be copied. Other classes may keep state. */
const containers: ReadonlySet<string> = new Set([
  "RunnableSequence",
  "RunnableBinding",
  "RunnableRetry",
  "RunnableWithFallbacks",
]);

/** A copy of the runnable with wired models. The given runnable is not changed. */
function withWiredModels(runnable: unknown, request: WiredRequest): WiredChain {
  let hasWired = false;
  const wire = (part: unknown): unknown => {
    if (!isRecord(part)) {
      return part;
    }
    if (part instanceof Wired || isModel(part)) {
      hasWired = true;
      return part instanceof Wired
        ? part
        : new Wired(part as unknown as Runnable<BaseLanguageModelInput, BaseMessage>, request);
    }
    return containers.has(nameOf(part)) ? copied(part, wire) : part;
  };
  return { runnable: wire(runnable), hasWired };
}

/** True for a chat model, also with bound arguments and retries. */
function isModel(part: Record<string, unknown>): boolean {
  const { _llmType, _getModelInstance, bound } = part;
  const isBound = isRecord(bound) && containers.has(nameOf(part));
  return typeof _llmType === "function" || typeof _getModelInstance === "function" || (isBound && isModel(bound));
}

/** A copy with other parts; itself if they are the same. */
function copied(part: Record<string, unknown>, change: (part: unknown) => unknown): unknown {
  const changes: Record<string, unknown> = {};
  for (const field of ["first", "middle", "last", "bound", "runnable", "fallbacks"]) {
    const value = part[field];
    const changed = Array.isArray(value) ? value.map(change) : change(value);
    if (
      Array.isArray(value) ? value.some((each, index) => each !== (changed as unknown[])[index]) : changed !== value
    ) {
      changes[field] = changed;
    }
  }
  const copy: unknown = Object.create(Object.getPrototypeOf(part) as object);
  return Object.keys(changes).length === 0 ? part : Object.assign(copy as object, part, changes);
}

/** The class as LangChain names it, which survives a bundler. */
function nameOf(part: object): string {
  const own = part.constructor as { readonly name: string; lc_name?: () => string };
  return Object.hasOwn(own, "lc_name") && own.lc_name !== undefined ? own.lc_name() : own.name;
}
