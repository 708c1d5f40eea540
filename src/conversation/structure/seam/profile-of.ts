import { fieldsOf, isRecord, stringIn } from "../../messages/message.js";
import type { Adapter } from "../adapters/adapter.js";
import { adapterProfiles, bindsThoughts, profileOfModel } from "../profiles/built-in-profiles.js";
import { otherClass } from "../profiles/neutral.js";
import type { StructureProfile } from "../profiles/profile.js";

/**
 * How much a request to a model may hold, as far as the model says it: in tokens, as the provider counts them.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { profileOf, type ModelWindow } from "langchain-redis-memory/structure";
 *
 * const { window } = await profileOf(new ChatOpenAI({ model: "gpt-4o" }));
 * const { maxInputTokens }: ModelWindow = window; // 128000
 */
export interface ModelWindow {
  /** The model's name, else its class; undefined if one of several models may answer. */
  readonly model: string | undefined;
  /** `model.profile.maxInputTokens`, the smallest of several models; undefined if it is not known. */
  readonly maxInputTokens: number | undefined;
  /** `model.profile.maxOutputTokens`; undefined if it is not known. */
  readonly maxOutputTokens: number | undefined;
  /** The answer's limit that is set on the model, `maxTokens`; undefined if none is. */
  readonly maxTokens: number | undefined;
}

/** Requirements for a request to a model, as far as they can be derived from the model. */
export interface ModelProfile {
  /** The profile of the model's adapter; `neutral` where it is not known. */
  readonly profile: StructureProfile;
  /** The class of a model whose adapter is not known; undefined for a known one. */
  readonly guessedFor: string | undefined;
  /** The model's name; undefined if it is not known, or if one of several models may answer. */
  readonly model: string | undefined;
  /** Whether tools are bound to the model; undefined if it is not known. */
  readonly hasTools: boolean | undefined;
  /** The tools that are bound to the model; none if there are none, or several models. */
  readonly tools: readonly unknown[];
  /** Whether the provider keeps reasoning items. */
  readonly storesReasoning: boolean;
  /** Whether the model binds a thought to everything before it; of several models, whether one does. */
  readonly bindsThoughts: boolean;
  /** How much a request may hold. */
  readonly window: ModelWindow;
}

/**
 * The classes of each adapter, and a method of theirs alone, because others may have their names. ChatOpenAI has two
 * adapters. Subclasses go through their parent's.
 */
const classesByAdapter: Readonly<Record<Exclude<Adapter, "neutral">, readonly [method: string, ...names: string[]]>> = {
  "openai-chat": [
    "_getClientOptions",
    ...["ChatOpenAI", "AzureChatOpenAI", "ChatOpenAICompletions", "AzureChatOpenAICompletions"],
  ],
  "openai-responses": ["_getClientOptions", "ChatOpenAIResponses", "AzureChatOpenAIResponses"],
  deepseek: ["_getClientOptions", "ChatDeepSeek"],
  anthropic: ["formatStructuredToolToAnthropic", "ChatAnthropic", "ChatAnthropicMessages"],
  // Not that of @langchain/google-gauth, from which ChatVertexAI descends.
  google: ["isVertexExpress", "ChatGoogle", "BaseChatGoogle"],
  "google-genai": ["_isMultimodalModel", "ChatGoogleGenerativeAI"],
  mistral: ["addAllHooksToHttpClient", "ChatMistralAI"],
  bedrock: ["_generateNonStreaming", "ChatBedrockConverse"],
};

const knownClasses = new Map(
  Object.entries(classesByAdapter).flatMap(([adapter, [method, ...names]]) =>
    names.map((name) => [name, { adapter: adapter as Adapter, method }]),
  ),
);

/**
 * The profile of a chat model: of its class and API, also behind `bindTools`, `withConfig`, `withRetry`,
 * `withFallbacks` and `withStructuredOutput`, and of the model that `initChatModel` makes for the run's `config`. A
 * chain with one model has that model's, and so has an agent of `createAgent` whose middleware wraps no model call.
 * A model that is not known, and models of several adapters, have `neutral`, which nearly every adapter reads; never
 * another adapter's.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { profileOf, type ModelProfile } from "langchain-redis-memory/structure";
 *
 * const model = new ChatOpenAI({ model: "gpt-5.5", useResponsesApi: true });
 * const { profile, model: name }: ModelProfile = await profileOf(model); // profile.name: "openai-responses"
 */
export async function profileOf(model: unknown, config?: object): Promise<ModelProfile> {
  return (await readProfile(model, config)).profile;
}

/** The profile of a model; `isFixed` unless it depends on the config. */
export async function readProfile(
  model: unknown,
  config: object | undefined,
): Promise<{ readonly profile: ModelProfile; readonly isFixed: boolean }> {
  let isFixed = isRecord(model);
  const onConfig = () => {
    isFixed = false;
  };
  const models = await modelsIn(model, { config, settings: {}, onConfig });
  return { profile: profileFor(model, models.map(describe)), isFixed };
}

function profileFor(called: unknown, models: readonly Described[]): ModelProfile {
  const [first] = models;
  const common = { window: windowOf(models), bindsThoughts: models.some(({ name }) => bindsThoughts(name)) };
  const model = first !== undefined && models.every(({ name }) => name === first.name) ? first.name : undefined;
  if (first === undefined || models.some(({ adapter }) => adapter === undefined || adapter !== first.adapter)) {
    const unknown = models.find(({ adapter }) => adapter === undefined);
    const guessedFor = unknown?.className ?? (models.length > 1 ? "several models" : classNameOf(called));
    const tools = first !== undefined && models.length === 1 ? first.tools : [];
    const facts = { model, hasTools: undefined, tools, storesReasoning: true };
    const isInSight = first !== undefined && models.every(({ adapter }) => adapter === undefined);
    return { profile: isInSight ? otherClass : adapterProfiles.neutral, guessedFor, ...facts, ...common };
  }
  const thinksByHand = models.some((each) => each.thinksByHand);
  return {
    profile: profileOfModel(adapterProfiles[first.adapter!], { model, thinksByHand }),
    guessedFor: undefined,
    model,
    hasTools: models.every(({ hasTools }) => hasTools === first.hasTools) ? first.hasTools : undefined,
    tools: models.length === 1 ? first.tools : [],
    storesReasoning: models.every(({ storesReasoning }) => storesReasoning),
    ...common,
  };
}

/** The window of whichever of the models answers. */
function windowOf(models: readonly Described[]): ModelWindow {
  const smallest = (name: keyof Omit<ModelWindow, "model">) => {
    const amounts = models.flatMap(({ window }) => window[name] ?? []);
    return amounts.length === 0 ? undefined : Math.min(...amounts);
  };
  const [first] = models;
  return {
    model: models.every(({ window }) => window.model === first?.window.model) ? first?.window.model : undefined,
    maxInputTokens: smallest("maxInputTokens"),
    maxOutputTokens: smallest("maxOutputTokens"),
    maxTokens: smallest("maxTokens"),
  };
}

/** A chat model, and the arguments that are bound to it. */
interface BoundModel {
  readonly model: Record<string, unknown>;
  readonly settings: Record<string, unknown>;
}

interface Search {
  readonly config: object | undefined;
  readonly settings: Record<string, unknown>;
  /** Called where the config chooses the model. */
  readonly onConfig: () => void;
}

/** The chat models that a call of the runnable may reach. */
async function modelsIn(runnable: unknown, search: Search): Promise<readonly BoundModel[]> {
  if (!isRecord(runnable)) {
    return [];
  }
  const { config, settings } = search;
  const { bound, kwargs, runnable: first, fallbacks, steps, _getModelInstance: instance } = runnable;
  if (typeof instance === "function") {
    search.onConfig();
    const made = await Promise.resolve(instance.call(runnable, config)).catch(() => undefined);
    return modelsIn(made, search);
  }
  const agent = agentIn(runnable);
  if (agent !== undefined) {
    return modelsIn(agent.model, { ...search, settings: { ...settings, tools: agent.tools } });
  }
  if (isRecord(bound)) {
    const own = fieldsOf(runnable["config"]);
    return modelsIn(bound, {
      ...search,
      config: { ...own, ...config },
      settings: { ...settings, ...own, ...fieldsOf(kwargs) },
    });
  }
  const parts = Array.isArray(fallbacks) ? [first, ...(fallbacks as unknown[])] : Array.isArray(steps) ? steps : [];
  if (parts.length > 0) {
    const lists = await Promise.all(parts.map((part: unknown) => modelsIn(part, search)));
    return lists.flat();
  }
  return typeof runnable["_llmType"] === "function" ? [{ model: runnable, settings }] : [];
}

/**
 * The model and the tools of an agent of `createAgent`; undefined for anything else, and where a middleware may change
 * the model.
 */
function agentIn({
  options,
  graph,
  _llmType,
}: Record<string, unknown>): Record<"model" | "tools", unknown> | undefined {
  if (!isRecord(options) || !isRecord(graph) || typeof _llmType === "function") {
    return undefined;
  }
  const { model, tools, middleware } = options;
  const isChanged = Array.isArray(middleware) && middleware.some((each) => isRecord(each) && each["wrapModelCall"]);
  return isRecord(model) && !isChanged ? { model, tools } : undefined;
}

interface Described {
  readonly adapter: Adapter | undefined;
  readonly className: string;
  readonly name: string | undefined;
  readonly hasTools: boolean;
  readonly tools: readonly unknown[];
  readonly storesReasoning: boolean;
  readonly window: ModelWindow;
  readonly thinksByHand: boolean;
}

function describe({ model, settings }: BoundModel): Described {
  const options = { ...fieldsOf(model["defaultOptions"]), ...settings };
  const { tools, store } = options as { readonly tools?: unknown; readonly store?: unknown };
  const limits = fieldsOf(model["profile"]);
  const name = stringIn(model["model"]) ?? stringIn(model["modelName"]);
  const isStored = [store, model["store"], fieldsOf(model["modelKwargs"])["store"]].every((value) => value !== false);
  return {
    adapter: adapterFor(model, options),
    className: classNameOf(model),
    name,
    hasTools: Array.isArray(tools) && tools.length > 0,
    tools: Array.isArray(tools) ? (tools as unknown[]) : [],
    storesReasoning: isStored && model["zdrEnabled"] !== true,
    window: {
      model: name ?? classNameOf(model),
      maxInputTokens: amountIn(limits["maxInputTokens"]),
      maxOutputTokens: amountIn(limits["maxOutputTokens"]),
      maxTokens: amountIn(settings["maxTokens"]) ?? amountIn(settings["max_tokens"]) ?? amountIn(model["maxTokens"]),
    },
    thinksByHand: fieldsOf(model["thinking"])["type"] === "enabled",
  };
}

/** A number of tokens; undefined for anything else, as for ChatOpenAI's -1. */
function amountIn(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 && value < Infinity ? value : undefined;
}

function adapterFor(model: Record<string, unknown>, options: object): Adapter | undefined {
  const classes = classesOf(model).map((name) => knownClasses.get(name));
  const adapter = classes.find((each) => each !== undefined && each.method in model)?.adapter;
  const { _useResponsesApi: usesResponses } = model;
  return adapter === "openai-chat" && typeof usesResponses === "function" && usesResponses.call(model, options) === true
    ? "openai-responses"
    : adapter;
}

/** The names of a model's class and of its parents, nearest first; `lc_name` survives a bundler. */
function classesOf(model: object): readonly string[] {
  const names: string[] = [];
  for (let proto: unknown = Object.getPrototypeOf(model); isRecord(proto); proto = Object.getPrototypeOf(proto)) {
    const own = proto["constructor"] as { readonly name?: string; lc_name?: () => string } | undefined;
    const told = typeof own?.lc_name === "function" && Object.hasOwn(own, "lc_name") ? own.lc_name() : undefined;
    names.push(...[own?.name, told].filter((name) => name !== undefined));
  }
  return names;
}

function classNameOf(model: unknown): string {
  return isRecord(model) ? (classesOf(model)[0] ?? "object") : typeof model;
}
