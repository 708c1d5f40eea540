import type { BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../../store/codec/stored-record.js";
import { digestMessage } from "../../store/codec/encode-message.js";
import { ConfigurationError, RecordError } from "../../base/errors.js";
import { changeMessage } from "../../conversation/messages/change-message.js";

/**
 * Maps a message to the message to store, or to a promise of it. Gets a copy, which it may mutate; changes of the id
 * are ignored. Throw an error to refuse the whole turn.
 * @example
 * import { RedisChatMemory, type BeforeStore } from "langchain-redis-memory";
 *
 * const withoutCardNumbers: BeforeStore = (message) => {
 *   if (typeof message.content === "string") {
 *     message.content = message.content.replaceAll(/\b\d{16}\b/g, "[card]");
 *   }
 *   return message;
 * };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", beforeStore: withoutCardNumbers });
 */
export type BeforeStore = (message: BaseMessage) => BaseMessage | Promise<BaseMessage>;

interface KnownForm {
  /** Digest of the form's source content, to detect later changes of the message. */
  readonly digest: string;
  readonly form: Promise<BaseMessage>;
}

/** The stored form of each message, made by `beforeStore` once per message object. */
export class StoredForms {
  readonly #beforeStore: BeforeStore;
  readonly #forms = new WeakMap<BaseMessage, KnownForm>();

  constructor(beforeStore: BeforeStore) {
    this.#beforeStore = beforeStore;
  }

  /**
   * The stored forms of messages, in order, made one after another from their current content. Does not mutate them.
   *
   * @throws RecordError `refused` if the function throws, `unsupported_message` for a message that cannot be stored;
   * ConfigurationError `beforeStore` if it returns no message.
   */
  async of(messages: readonly BaseMessage[]): Promise<BaseMessage[]> {
    const copies = messages.map((message) => ({ message, copy: copyMessage(message), digest: digestMessage(message) }));
    const forms: BaseMessage[] = [];
    for (const { message, copy, digest } of copies) {
      const known = this.#forms.get(message);
      const form = known?.digest === digest ? known.form : this.#make(copy);
      if (form !== known?.form) {
        this.#forms.set(message, { digest, form });
        form.catch(() => this.#forms.delete(message));
      }
      forms.push(await form);
    }
    return forms;
  }

  async #make(copy: BaseMessage): Promise<BaseMessage> {
    const { id } = copy;
    const type = copy.getType();
    let form: BaseMessage;
    try {
      form = await this.#beforeStore(copy);
    } catch (cause) {
      const message = `beforeStore refused a message of type "${type}"; nothing was stored.`;
      throw new RecordError(message, { code: "refused", cause });
    }
    if (typeof (form as Partial<BaseMessage> | undefined)?.getType !== "function") {
      throw new ConfigurationError("beforeStore", 'The function "beforeStore" must return a message.');
    }
    return changeMessage(form, { id });
  }
}

/**
 * The forms to compare with stored messages. A message that `beforeStore` refuses is its own form: the write refuses
 * it.
 */
export async function comparableForms(
  messages: readonly BaseMessage[],
  forms: StoredForms | undefined,
): Promise<readonly BaseMessage[]> {
  const result: BaseMessage[] = [];
  for (const message of messages) {
    const [form = message] = (await forms?.of([message]).catch(() => [])) ?? [];
    result.push(form);
  }
  return result;
}
