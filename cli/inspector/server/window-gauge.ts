import type { BaseMessage } from "@langchain/core/messages";
import { metaOf } from "../../../src/store/codec/decode-record.js";
import { marginBehindAnswer } from "../../../src/conversation/reducers/window/context-window.js";
import {
  askedName,
  requestSize,
  roomIn,
  type Counting,
} from "../../../src/conversation/reducers/window/request-size.js";
import { usageOf } from "../../../src/memory/session/append-input.js";
import { approximateCounter } from "../../../src/conversation/tokens/counters/approximate-counter.js";
import { tiktokenCounter } from "../../../src/conversation/tokens/counters/tiktoken-counter.js";
import { countMessages } from "../../../src/conversation/tokens/counted-messages.js";
import type { Server } from "../../server.js";
import type { GaugeAnswer } from "../model/data.js";
import { factOf, type ModelFact } from "../model/facts-of-models.js";
import { readableText } from "./readable-text.js";
import { readView, type ViewEntry } from "./session-findings.js";

/** Counters of the package: what one of the application's own counted cannot be counted again here. */
const counters = [
  approximateCounter(),
  ...(["o200k_base", "cl100k_base"] as const).map((encoding) => tiktokenCounter({ encoding })),
];

/** An answer that says what its request took. */
interface Told {
  readonly model: string;
  readonly billed: number;
  readonly at: number | undefined;
  /** How the library's own estimate of that request was made; undefined where none is stored. */
  readonly counting: Counting | undefined;
}

/**
 * The next request of a session, as `history.contextUsage` measures it: by the newest answer that stored what its
 * request took. The model itself is not at hand, so its window is known only where it is said.
 */
export async function gaugeOf(server: Server, sessionId: string, facts: readonly ModelFact[]): Promise<GaugeAnswer> {
  const { entries } = await readView(server, sessionId);
  const told = toldIn(entries, facts);
  if (told === undefined) {
    return {};
  }
  const cut = (await server.store.data.readStats({ id: sessionId }))?.reductions.at(-1);
  const isCut = cut !== undefined && cut.at >= (told.at ?? Infinity);
  const messages = entries.map(({ message }) => message);
  const sizes = isCut ? undefined : await sizesOf(messages, told);
  const window = factOf(facts, "window", told.model);
  return {
    gauge: {
      model: readableText(told.model),
      ...(sizes ?? { tokens: told.billed, ...(isCut && { isCut }) }),
      ...(window !== undefined && { window, room: roomIn(window, { safetyMargin: marginBehindAnswer }) }),
    },
  };
}

function toldIn(entries: readonly ViewEntry[], facts: readonly ModelFact[]): Told | undefined {
  const entry = entries.findLast(({ message }) => (usageOf(message)?.input ?? 0) > 0);
  if (entry === undefined) {
    return undefined;
  }
  const { model, input: billed } = usageOf(entry.message)!;
  const askedAs = Object.keys(entry.counts).find((name) => name.startsWith("asked:"));
  const counting = askedAs === undefined ? undefined : countingOf(askedAs, [...facts.map(({ name }) => name), model]);
  return {
    ...{ billed, at: metaOf(entry.record).at },
    // The model's own name, under which the application has its window, and not that of the answer's version.
    model: counting?.model ?? model,
    counting,
  };
}

/**
 * The counter and the model of a name that `askedName` made, which is a hash: by the models that are known here, else
 * as if the memory's own counter had counted all.
 */
function countingOf(askedAs: string, models: readonly string[]): Counting & { readonly model: string | undefined } {
  const made = counters.flatMap((counter) =>
    [true, false].flatMap((isWhole) => models.map((model) => ({ counter, isWhole, model }))),
  );
  const match = made.find(({ model, ...parts }) => askedName(model, parts) === askedAs);
  const { counter, isWhole, model } = match ?? { counter: counters[0]!, isWhole: true, model: undefined };
  return { counter, names: [{ askedAs, isWhole, isRepeated: true }], model };
}

/** Tokens of the next request, and those of its fixed parts, both as the provider counts; undefined without a base. */
async function sizesOf(
  messages: readonly BaseMessage[],
  { counting }: Told,
): Promise<{ readonly tokens: number; readonly fixed: number } | undefined> {
  const size = counting && (await requestSize(messages, {}, counting));
  if (size === undefined || !size.isAnchored) {
    return undefined;
  }
  const { tokens } = size;
  const step = 1_000_000;
  const ratio = step / Math.max(1, size.messagesWithin(tokens + step) - size.messagesWithin(tokens));
  const view = ratio * (await countMessages(counting!.counter, messages));
  return { tokens, fixed: Math.max(0, Math.round(tokens - view)) };
}
