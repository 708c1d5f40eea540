import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import type { AppendOptions, AppendOutcome } from "../../src/memory/session/append-options.js";

/** Stores `#` for each digit, but for those in results of tools. */
export class RedactingHistory extends RedisChatMessageHistory {
  override append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    const redacted = messages.map((message) => {
      const Kind = message.constructor as new (fields: object) => BaseMessage;
      const content = message.text.replaceAll(/\d/g, "#");
      return message instanceof ToolMessage ? message : new Kind({ id: message.id, content });
    });
    return super.append(redacted, options);
  }
}
