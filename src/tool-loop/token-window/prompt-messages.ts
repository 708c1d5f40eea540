import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { renderQuestion } from "../turn/rendered-question.js";

/** The user's own text, and the text that the model reads instead. */
export interface UserTexts {
  readonly original: string;
  readonly rendered: string;
}

/** Creates a model call's own messages; the same object for the same text, so that it is counted once. */
export class PromptMessages {
  #system: SystemMessage | undefined;
  #user: (UserTexts & { readonly stored: BaseMessage | undefined; readonly message: BaseMessage }) | undefined;

  /** Returns the system prompt; undefined for the empty string. */
  system(text: string): SystemMessage | undefined {
    if (text !== "" && this.#system?.content !== text) {
      this.#system = new SystemMessage(text);
    }
    return text === "" ? undefined : this.#system;
  }

  /**
   * Returns the user's message as the model reads it: the rendered text in place of the original one, and what else the
   * stored message says.
   */
  user({ original, rendered }: UserTexts, stored: BaseMessage | undefined): BaseMessage {
    const known = this.#user;
    if (known?.rendered !== rendered || known.original !== original || known.stored !== stored) {
      const isNew = stored === undefined;
      const message = isNew ? new HumanMessage(rendered) : renderQuestion(stored, { original, rendered });
      this.#user = { original, rendered, stored, message };
    }
    return this.#user!.message;
  }
}
