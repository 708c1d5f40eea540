import { BoundedMap } from "../../base/bounded-map.js";
import { report, type MemoryEventHandler } from "../../base/events.js";
import { type RepairOptions, type RepairPlan, resolveRepairOptions } from "../options.js";
import { type ModelProfile, profileOf } from "./profile-of.js";

/** A request to a model, as far as its messages' form depends on it. */
export interface PlannedRequest {
  /** The model that is called. */
  readonly model: unknown;
  /** The tools that are sent beside those that are bound to the model; undefined if they are not known. */
  readonly tools?: readonly unknown[] | undefined;
  /** The config of the call, for models that `initChatModel` makes by it. */
  readonly config?: object | undefined;
  /** Choices of the caller, which go before what the model says. */
  readonly choices?: RepairOptions;
}

/** Properties derived from a model, and the repair that follows from them. */
export interface ModelPlan {
  readonly plan: RepairPlan;
  readonly profile: ModelProfile;
}

/** The repair of a request's messages for its model. @throws ConfigurationError naming `owner` */
export async function planForModel(owner: string, request: PlannedRequest): Promise<ModelPlan> {
  const { model, tools, config, choices } = request;
  const profile = await profileOf(model, config);
  const hasTools = tools === undefined ? profile.hasTools : tools.length > 0 || profile.hasTools === true;
  const plan = resolveRepairOptions(owner, {
    profile: profile.profile,
    storesReasoning: profile.storesReasoning,
    ...(hasTools !== undefined && { hasTools }),
    ...(profile.model !== undefined && { model: profile.model }),
    ...choices,
  });
  return { plan, profile };
}

/** The session of a request, and who hears of a model that is not known. */
export interface GuessObserver {
  readonly sessionId: string;
  readonly onEvent: MemoryEventHandler | undefined;
}

const maxClasses = 1_000;
/** The classes that were reported. */
const reported = new WeakMap<MemoryEventHandler, BoundedMap<string, true>>();

/** {@link planForModel} with the profile `"auto"`: reports each class of models that is not known once. */
export async function autoPlan(
  owner: string,
  request: PlannedRequest,
  { sessionId, onEvent }: GuessObserver,
): Promise<RepairPlan> {
  const { plan, profile } = await planForModel(owner, request);
  const { guessedFor } = profile;
  if (guessedFor !== undefined && onEvent !== undefined) {
    const known = reported.get(onEvent) ?? new BoundedMap<string, true>(maxClasses);
    if (known.get(guessedFor) === undefined) {
      reported.set(onEvent, known.set(guessedFor, true));
      report(onEvent, { type: "profile_guessed", sessionId, className: guessedFor });
    }
  }
  return plan;
}
