import { isThought, thoughtIn } from "../../messages/copies/thoughts.js";
import type { AnswerForm } from "./adapter.js";
import { withoutLastThought } from "./anthropic.js";
import { formedContent, isText, plainBlock, unmarked, withForm, withoutForgottenCalls } from "./blocks.js";
import { mayComeFrom } from "./origin.js";
import { plainAnswer } from "./plain.js";

/** Converse, through ChatBedrockConverse: signed thoughts of Bedrock; the calls come from `tool_calls`. */
export const bedrockAnswer: AnswerForm = (message) => {
  if (!mayComeFrom(message, ["bedrock"])) {
    return plainAnswer(message);
  }
  const content = formedContent(message.content, (block) => {
    if (isThought(block)) {
      const isOwn = block.type === "reasoning" || block.type === "reasoning_content";
      return isOwn && thoughtIn(block)!.isSigned ? [block] : [];
    }
    return isText(block) || "cachePoint" in block ? [block] : plainBlock(block);
  });
  return withoutLastThought(
    withForm(withoutForgottenCalls(message), { content, response_metadata: unmarked(message) }),
  );
};
