import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { sources, type Target, targets } from "./adapters.js";
import { makeConversation } from "./conversations.js";
import { hiddenModel, tool } from "./matrix.js";

/** Conversations a source: with twelve sources, 36. */
const seeds = [1, 2, 3];

/** Bodies of untouched conversations, with `toModel` and without. */
export interface ReplayReport {
  /** Conversations whose adapter, given its own answers, sends the same body with `toModel` and without. */
  readonly equal: number;
  /** The others, as `source seed`, and what the adapter threw without `toModel`. */
  readonly mended: Readonly<Record<string, string>>;
  /**
   * Texts and calls that are not in a target's body, by `source > target`; `hidden: ` where the model is hidden.
   * Without those that no form of a hidden model's answers would save.
   */
  readonly lost: Readonly<Record<string, readonly string[]>>;
}

/** Replays untouched answers: of each source to its own adapter, and to all others. The same seeds, the same report. */
export async function replayReport(): Promise<ReplayReport> {
  const mended: Record<string, string> = {};
  const lost: Record<string, string[]> = {};
  let equal = 0;
  const all = targets();
  for (const source of sources()) {
    for (const seed of seeds) {
      const messages = await makeConversation(source, { seed, stops: false });
      const own = { ...source, profile: "neutral" } as const;
      const plain = await bodyOf(messages, own).catch((error: unknown) => String(error).slice(0, 60));
      const ready = await readyBody(messages, own);
      if (ready === plain) {
        equal += 1;
      } else {
        mended[`${source.name} ${seed}`] = plain.startsWith("{") ? "another body" : plain;
      }
      // The turn that goes on is left out: where no model is in sight, its answers are the model's own.
      const asked = messages.slice(0, messages.findLastIndex((message) => message.getType() === "human") + 1);
      for (const target of all) {
        const missing = {
          [`${source.name} > ${target.name}`]: missingIn(await readyBody(messages, target), messages),
          [`hidden: ${source.name} > ${target.name}`]: await hiddenBody(asked, target).then(
            (body) => missingIn(body, asked),
            (error: unknown) => [String(error).slice(0, 40)],
          ),
        };
        const isLost = ([pair, { length }]: [string, string[]]) => length > 0 && !isUnread(pair);
        for (const [pair, texts] of Object.entries(missing).filter(isLost)) {
          (lost[pair] ??= []).push(...texts);
        }
      }
    }
  }
  return { equal, mended, lost };
}

/** A ChatGoogle out of sight reads calls behind its own answers only, in a form at which ChatMistralAI throws. */
function isUnread(pair: string): boolean {
  return /^hidden: (?:google(?:-v1)? > mistral|(?!google(?:-v1)? )\S+ > google)$/.test(pair);
}

async function bodyOf(messages: readonly BaseMessage[], { model }: Pick<Target, "model">): Promise<string> {
  return JSON.stringify((await captureWire(model, messages, { tools: [tool] })).body);
}

async function readyBody(messages: readonly BaseMessage[], { model }: Pick<Target, "model">): Promise<string> {
  const ready = await toModel(messages, { model, tools: [tool] });
  return bodyOf(ready.messages, { model });
}

/** The body for a model that a function calls. */
async function hiddenBody(messages: readonly BaseMessage[], { model }: Pick<Target, "model">): Promise<string> {
  const ready = await toModel(messages, { model: hiddenModel, tools: [tool] });
  return bodyOf(ready.messages, { model });
}

/** The texts of the conversation, and the arguments of its calls, that stand less often in the body than there. */
export function missingIn(body: string, messages: readonly BaseMessage[]): string[] {
  const wanted = new Map<string, number>();
  const want = (text: string) => wanted.set(text, (wanted.get(text) ?? 0) + 1);
  // In standard content, ChatGoogle makes two of each call, of which one has no id.
  for (const message of messages.filter((given) => (given as { tool_call_id?: string }).tool_call_id !== "")) {
    textsOf(message).forEach(want);
    const calls = (message as AIMessage).tool_calls ?? [];
    calls.filter(({ id }) => id !== undefined).forEach(({ args }) => want(String((args as { q?: unknown }).q)));
  }
  return [...wanted].filter(([text, count]) => body.split(text).length - 1 < count).map(([text]) => text.slice(0, 20));
}

/** The texts of a message, block by block: bodies keep the blocks apart. */
function textsOf({ content }: BaseMessage): string[] {
  const blocks = typeof content === "string" ? [{ text: content }] : content;
  const texts = blocks.flatMap((block) =>
    "text" in block && typeof block.text === "string" && !("thought" in block) ? [block.text.trim()] : [],
  );
  return texts.filter((text) => text !== "");
}
