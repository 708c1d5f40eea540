import { blockList, isStandardContent } from "../../messages/content.js";
import { isThought, thoughtIn } from "../../messages/copies/thoughts.js";
import type { OwnForm } from "./adapter.js";
import { endsOnThought } from "./anthropic.js";
import { isText } from "./blocks.js";

/** Converse, through ChatBedrockConverse: texts and signed thoughts; the calls come from `tool_calls`. */
export const bedrockAnswer: OwnForm = (message) => {
  const passes = blockList(message).every((block) =>
    isThought(block)
      ? (block.type === "reasoning" || block.type === "reasoning_content") && thoughtIn(block)!.isSigned
      : isText(block) || "cachePoint" in block,
  );
  return passes && !isStandardContent(message) && !endsOnThought(message) ? message : undefined;
};
