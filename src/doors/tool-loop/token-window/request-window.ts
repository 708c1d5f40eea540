import { HumanMessage, type BaseMessage, type ToolMessage, type ContentBlock } from "@langchain/core/messages";
import { ConfigurationError } from "../../../base/errors.js";
import { answeredId, textBlock } from "../../../conversation/messages/content.js";
import { changeContent } from "../../../conversation/messages/copies/edit-message.js";
import { roleOf } from "../../../conversation/messages/message.js";
import { sameElements } from "../../../conversation/messages/copies/plain-answer.js";
import { type ReducerRequest, removedMessages } from "../../../conversation/reducers/chat-history-reducer.js";
import { ContextWindow, type MeasuredRequest } from "../../../conversation/reducers/window/context-window.js";
import { windowSettings, type ContextWindowOptions } from "../../../conversation/reducers/window/options.js";
import type { RepairPlan } from "../../../conversation/structure/options.js";
import { countMessages, countOf, type TokenCounter } from "../../../conversation/tokens/counted-messages.js";
import { idsOf } from "../../../memory/turns/open-turn.js";
import type { TurnRequests } from "../../../memory/turns/turn-requests.js";
import type { StoredHistory } from "../stored/stored-session.js";
import { type Upload, isImage } from "../stored/references.js";
import { refuseOpenCalls } from "../turn/record.js";
import { fullBody, resultMessage, type ToolResult } from "../turn/tool-results.js";
import type { LoopStep } from "../turn/turn.js";
import { shorterResult, cutText, lengthsBelow } from "./cut-text.js";

/** The messages for a model call, and what was left out of them. */
export interface FittedWindow {
  /** The messages to send, in order. */
  readonly messages: BaseMessage[];
  /** The size of the request, and what is not sent whole. */
  readonly outcome: WindowOutcome;
  /**
   * The stored messages behind the question, if the turn is stored with its answer already: no model is to be called,
   * and nothing more is stored. Undefined for any other turn.
   */
  readonly replay?: readonly BaseMessage[];
}

/** The size of a request, and what is not sent whole. The stored messages stay whole. */
export interface WindowOutcome {
  /** Tokens that the request may take: the window without the room for the answer and the safety margin. */
  readonly limit: number;
  /** Tokens of the request, with its tools; scaled by what the provider counted where `model` is given. */
  readonly tokens: number;
  /** By how much `tokens` exceeds `limit`; 0 if it fits. */
  readonly overBudgetBy: number;
  /** Messages that are not sent: of earlier turns, or the oldest steps of this one. */
  readonly removed: readonly BaseMessage[];
  /** Ids of uploads, and of calls whose results, that are sent in part, or as a note. */
  readonly shortened: readonly string[];
}

/** Everything that should be sent, before it is made to fit. */
interface RequestContent extends Pick<ReducerRequest, "model" | "tools"> {
  readonly system: BaseMessage | undefined;
  /** The rendered user message, with the content besides text of its stored form. */
  readonly user: BaseMessage;
  readonly history: StoredHistory;
  readonly uploads: readonly Upload[];
  readonly steps: readonly LoopStep[];
  /** Numbers of sources that the model has cited. */
  readonly cited: ReadonlySet<number>;
  readonly plan: RepairPlan;
}

/** Options of {@link RequestWindow}. */
interface RequestWindowOptions extends ContextWindowOptions {
  /** Share of the space left after system prompt, user message and tools that uploads may take. */
  readonly uploadShare: number;
}

/** Follows the model's own message if that is last, because a model answers only a user or a tool. It is not stored. */
const continuation = new HumanMessage("Please continue.");
/** Characters that stay of an old result. */
const oldCharacters = 1_000;

/**
 * A `contextWindow` for the requests of a loop by hand, which stores none of its cuts. Uploads have a budget of their
 * own, and results with sources are shortened by relevance. One instance serves many turns, one at a time, and counts
 * nothing twice within a turn.
 */
export class RequestWindow {
  readonly #window: ContextWindow;
  readonly #uploadShare: number;
  readonly #uploads: UploadParts;
  readonly #results = new WeakMap<ToolResult, ToolMessage>();
  readonly #carriers = new WeakMap<BaseMessage, { readonly parts: readonly ContentPart[]; readonly of: BaseMessage }>();
  /** The parts that results of the request at hand keep longest. */
  #kept: Parameters<typeof shorterResult>[2] = { cited: new Set(), reminders: new Map() };

  constructor({ uploadShare, ...options }: RequestWindowOptions) {
    const shorten = (message: ToolMessage, characters: number) => shorterResult(message, characters, this.#kept);
    const placeholder = (message: ToolMessage) => shorten(message, oldCharacters);
    // Nothing is stored, so that a cut below the limit would keep no later request from being cut.
    const settings = windowSettings({ ...options, placeholder, target: 1 });
    this.#window = new ContextWindow({ ...settings, shorten });
    this.#uploads = new UploadParts(this.#window.tokenCounter);
    this.#uploadShare = uploadShare;
  }

  /**
   * The messages that fit, and what was left out.
   *
   * @throws StructureError while a call is waiting for its result; ConfigurationError if the window is not known.
   */
  async fit(requests: TurnRequests, content: RequestContent): Promise<FittedWindow> {
    const { system, user, history, steps, plan, model, tools } = content;
    const added = steps.flatMap(({ message, results }) => [message, ...results.flatMap((each) => this.#shown(each))]);
    refuseOpenCalls(added);
    const turn = [user, ...history.steps, ...added];
    const closing = turn.length > 1 && roleOf(turn.at(-1)!) === "ai" ? [continuation] : [];
    const whole = [...history.pinned, ...history.earlier, ...turn];
    this.#kept = { cited: content.cited, reminders: remindersOf(steps) };
    const sent = { model, ...(tools && { tools }), isWhole: true };
    const request = { ...sent, ...(system && { system }), besides: closing };
    const { size, room } = await this.#measure(whole, request);
    const left = size.messagesWithin(room) - (await countMessages(this.#window.tokenCounter, [user]));
    const uploads = await this.#uploads.within(content.uploads, Math.floor(this.#uploadShare * Math.max(0, left)));
    const besides = [...closing, ...uploads.filter(({ as }) => as !== "hidden").map(({ message }) => message)];
    const own = new Set(turn);
    const make = async (inserted: readonly BaseMessage[] = []) => {
      const toFit = { messages: whole, isOfTurn: (each: BaseMessage) => own.has(each), config: {} };
      const within = { ...request, besides: [...besides, ...inserted] };
      const selection = await requests.fitIn(this.#window, { ...toFit, request: within });
      const made = [...(system ? [system] : []), ...this.#place(selection, { user, uploads }), ...closing];
      const messages = requests.repaired(made, plan);
      const { tokens } = requests.took(await this.#measure(messages, sent));
      return { selection, made: new Set(made), messages, tokens };
    };
    const first = await make();
    const inserted = first.messages.filter((message) => !first.made.has(message));
    // A repair may add a placeholder: then less is sent, rather than more than the window holds.
    const { selection, messages, tokens } = first.tokens > room && inserted.length > 0 ? await make(inserted) : first;
    const partlyShown = uploads.flatMap(({ upload, as }) => (as === "whole" ? [] : [upload.id]));
    const shortened = [...new Set([...partlyShown, ...shortenedIn(selection, whole)])];
    const sizes = { limit: room, tokens, overBudgetBy: Math.max(0, tokens - room) };
    return { messages, outcome: { ...sizes, removed: removedMessages(whole, selection), shortened } };
  }

  async #measure(messages: readonly BaseMessage[], request: ReducerRequest): Promise<MeasuredRequest> {
    const measured = await this.#window.measure(messages, request);
    if (measured === undefined) {
      throw new ConfigurationError(
        "maxInputTokens",
        'HistoryManager: the window of "model" is not known (model.profile.maxInputTokens); give "maxInputTokens".',
      );
    }
    return measured;
  }

  /** Adds uploads to the messages that they belong to, else to the user's; the same objects if nothing changed. */
  #place(
    messages: readonly BaseMessage[],
    { user, uploads }: { readonly user: BaseMessage; readonly uploads: readonly ShownUpload[] },
  ): BaseMessage[] {
    const ids = new Set(idsOf(messages));
    const byPlace = new Map<string | undefined, ContentPart[]>();
    for (const { upload, message } of uploads) {
      const place = ids.has(upload.messageId ?? "") ? upload.messageId : undefined;
      byPlace.set(place, [...(byPlace.get(place) ?? []), ...(message.content as ContentPart[])]);
    }
    return messages.map((message) => {
      const own = message.id === undefined ? [] : (byPlace.get(message.id) ?? []);
      return this.#withParts(message, message === user ? [...own, ...(byPlace.get(undefined) ?? [])] : own);
    });
  }

  #withParts(message: BaseMessage, parts: readonly ContentPart[]): BaseMessage {
    const carrier = this.#carriers.get(message);
    if (parts.length === 0 || (carrier !== undefined && sameElements(carrier.parts, parts))) {
      return parts.length === 0 ? message : carrier!.of;
    }
    const { content } = message;
    const own = typeof content === "string" ? (content === "" ? [] : [textBlock(content)]) : content;
    const of = changeContent(message, [...own, ...parts]);
    this.#carriers.set(message, { parts, of });
    return of;
  }

  #shown(result: ToolResult | undefined): ToolMessage[] {
    if (result === undefined) {
      return [];
    }
    const message = this.#results.get(result) ?? resultMessage(result, fullBody(result));
    this.#results.set(result, message);
    return [message];
  }
}

function remindersOf(steps: readonly LoopStep[]): ReadonlyMap<string, string> {
  const results = steps.flatMap(({ results }) => results);
  return new Map(
    results.flatMap((result) => (result?.reminder === undefined ? [] : [[result.callId, result.reminder]])),
  );
}

/** Ids of calls whose results are not those of `whole`. */
function shortenedIn(messages: readonly BaseMessage[], whole: readonly BaseMessage[]): string[] {
  const originals = new Set(whole);
  return messages.flatMap((message) => (originals.has(message) ? [] : (answeredId(message) ?? [])));
}

/** A part of a message's content: text or an image. */
type ContentPart = ContentBlock;

/** The variant of an upload that is shown. `left_out` shows a note, `hidden` nothing. */
interface ShownUpload {
  readonly upload: Upload;
  readonly as: "whole" | "cut" | "left_out" | "hidden";
  /** Its parts, by themselves. */
  readonly message: BaseMessage;
}

const nothing = new HumanMessage({ content: [] });

/** Renders uploads within a budget; returns the same messages each time, so that they are counted once. */
class UploadParts {
  readonly #counter: TokenCounter;
  readonly #variants = new WeakMap<Upload, readonly ShownUpload[]>();

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  /**
   * The uploads as they take at most `budget` tokens: the newest ones whole, the first one that does not fit cut, and
   * a note in the place of each older one, where there is room for it.
   */
  async within(uploads: readonly Upload[], budget: number): Promise<ShownUpload[]> {
    const shown: ShownUpload[] = [];
    let left = budget;
    for (const upload of uploads.toReversed()) {
      const variants = this.#variants.get(upload) ?? variantsOf(upload);
      this.#variants.set(upload, variants);
      const isFull = shown.some(({ as }) => as !== "whole");
      for (const variant of isFull ? variants.slice(-2) : variants) {
        const size = await this.#tokensOf(variant.message);
        if (size <= left) {
          left -= size;
          shown.push(variant);
          break;
        }
      }
    }
    return shown.reverse();
  }

  /** Tokens that its parts add to another message. */
  async #tokensOf(message: BaseMessage): Promise<number> {
    return Math.max(0, (await countOf(this.#counter, message)) - (await countOf(this.#counter, nothing)));
  }
}

/** An upload whole, cut to ever less, as a note, and as nothing. */
function variantsOf(upload: Upload): ShownUpload[] {
  const { text = "" } = upload;
  const cuts = lengthsBelow(text.length).map((characters): ShownUpload => {
    return shownAs(upload, "cut", [textBlock(`${titleOf(upload)}:\n${cutText(text, characters)}`)]);
  });
  const note = textBlock(`[${titleOf(upload)} omitted: it does not fit the context window.]`);
  const whole = shownAs(upload, "whole", wholeParts(upload));
  return [whole, ...cuts, shownAs(upload, "left_out", [note]), shownAs(upload, "hidden", [])];
}

function shownAs(upload: Upload, as: ShownUpload["as"], content: readonly ContentPart[]): ShownUpload {
  return { upload, as, message: new HumanMessage({ content: [...content] }) };
}

function wholeParts(upload: Upload): readonly ContentPart[] {
  const { text, url } = upload;
  if (text !== undefined) {
    return [textBlock(`${titleOf(upload)}:\n${text}`)];
  }
  if (isImage(upload)) {
    return [textBlock(`${titleOf(upload)}:`), { type: "image_url", image_url: { url: url! } }];
  }
  return [textBlock(`[${titleOf(upload)}${url === undefined ? "" : ` at ${url}`}: content not shown.]`)];
}

function titleOf({ name, mimeType, isOfTool }: Upload): string {
  return isOfTool === true ? name : `Uploaded file ${JSON.stringify(name)} (${mimeType})`;
}
