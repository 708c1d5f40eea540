import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage, encodeContent } from "../codec/encode-message.js";
import { breather, countOf } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { checkSizes, type SizeLimits } from "../store/size-limits.js";
import type { AppendOptions } from "./append-options.js";
import { copyMessages, messageOf, type CopiedMessage } from "./encode-records.js";
import type { MemoryContext } from "./memory-context.js";

/**
 * Copies messages to be stored, or what `beforeStore` makes of them, and counts them where there is a counter. The copy
 * is there before the first pause, and what is too large is refused before anything is counted.
 */
export async function prepareMessages(
  { sessionId, context }: { readonly sessionId: string; readonly context: MemoryContext },
  messages: readonly BaseMessage[],
  { turnId, side }: Pick<AppendOptions, "turnId" | "side">,
): Promise<CopiedMessage[]> {
  const given = copyMessages(messages, { sessionId, turnId });
  const { store, tokenCounter, forms } = context;
  const stored = forms === undefined ? messages : await forms.of(messages);
  const copies = forms === undefined ? given : copiesOf(stored, given);
  if (tokenCounter !== undefined) {
    const { limits } = store;
    const texts = copies.map(({ content }) => content.data);
    if (limits !== undefined && mayExceed(texts, limits)) {
      checkSizes(sessionId, { texts, side }, limits);
    }
    await countCopies(tokenCounter, copies, stored);
  }
  return copies;
}

/** Copies of what is stored in the place of messages, under the ids of these. */
function copiesOf(forms: readonly BaseMessage[], given: readonly CopiedMessage[]): CopiedMessage[] {
  return forms.map((form, index) => ({ content: encodeContent(form), id: given[index]!.id }));
}

/** False if the texts fit however many bytes their characters take; spares short texts the counting of their bytes. */
function mayExceed(texts: readonly string[], { maxMessageBytes, maxAppendBytes }: SizeLimits): boolean {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return 3 * length > Math.min(maxMessageBytes, maxAppendBytes);
}

/**
 * Counts the tokens of copies, once each. `messages` are the objects that they were made of: these are counted until
 * the first pause, because counts are remembered by object; what is counted later is a copy, because the caller may
 * have changed its objects by then.
 *
 * @throws ConfigurationError if the counter returns something other than a count.
 */
async function countCopies(
  counter: TokenCounter,
  copies: readonly CopiedMessage[],
  messages: readonly BaseMessage[],
): Promise<void> {
  const breathe = breather();
  let isSame = true;
  for (const [index, copy] of copies.entries()) {
    const counted = countOf(counter, isSame ? messages[index]! : messageOf(copy));
    if (typeof counted === "number") {
      copy.tokens = counted;
    } else {
      const tokens = await counted;
      // A counter that reads the message late may have read what the caller made of it meanwhile.
      const isStale = isSame && !isUnchanged(messages[index]!, copy);
      copy.tokens = isStale ? await countOf(counter, messageOf(copy)) : tokens;
      isSame = false;
    }
    const pause = breathe();
    if (pause !== undefined) {
      await pause;
      isSame = false;
    }
  }
}

function isUnchanged(message: BaseMessage, { content }: CopiedMessage): boolean {
  try {
    return digestMessage(message) === content.digest;
  } catch {
    return false;
  }
}
