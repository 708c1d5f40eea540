import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { changeMessage } from "../../messages/change-message.js";
import { textPart } from "./upload-parts.js";

/**
 * Makes the messages that a model call brings itself; the same object for the same text, so that it is counted once.
 */
export class PromptMessages {
  #system: SystemMessage | undefined;
  #user:
    { readonly stored: BaseMessage | undefined; readonly rendered: string; readonly message: BaseMessage } | undefined;

  /** The system prompt; undefined for the empty string. */
  system(text: string): SystemMessage | undefined {
    if (text !== "" && this.#system?.content !== text) {
      this.#system = new SystemMessage(text);
    }
    return text === "" ? undefined : this.#system;
  }

  /**
   * The user's message as the model reads it: rendered text in the place of the stored message's text, and what that
   * one carries besides.
   */
  user(rendered: string, stored: BaseMessage | undefined): BaseMessage {
    if (this.#user?.rendered !== rendered || this.#user.stored !== stored) {
      this.#user = {
        stored,
        rendered,
        message: stored === undefined ? new HumanMessage(rendered) : withText(stored, rendered),
      };
    }
    return this.#user.message;
  }
}

function withText(message: BaseMessage, text: string): BaseMessage {
  const { content } = message;
  if (typeof content === "string") {
    return changeMessage(message, { content: text });
  }
  return changeMessage(message, { content: [textPart(text), ...content.filter(({ type }) => type !== "text")] });
}
