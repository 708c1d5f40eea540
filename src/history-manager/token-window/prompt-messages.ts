import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { changeMessage } from "../../messages/change-message.js";
import { textPart } from "./upload-parts.js";

/** Creates a model call's own messages; the same object for the same text, so that it is counted once. */
export class PromptMessages {
  #system: SystemMessage | undefined;
  #user:
    { readonly stored: BaseMessage | undefined; readonly rendered: string; readonly message: BaseMessage } | undefined;

  /** Returns the system prompt; undefined for the empty string. */
  system(text: string): SystemMessage | undefined {
    if (text !== "" && this.#system?.content !== text) {
      this.#system = new SystemMessage(text);
    }
    return text === "" ? undefined : this.#system;
  }

  /**
   * Returns the user's message as the model reads it: the rendered text in place of the stored message's text, and the
   * stored message's other content.
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
