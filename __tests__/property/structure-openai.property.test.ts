import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { repairConversation } from "../../src/conversation/structure/repair-conversation.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { brokenConversation } from "../support/broken-conversations.js";
import { anyConversation } from "../support/conversations.js";
import { refusalOf } from "../support/openai-wire.js";
import { propertyRuns } from "../support/property-runs.js";

const options = { profile: "openai", purpose: "model-input" } as const;

describe("a conversation that passes the profile openai", () => {
  it("is accepted by the service after the repair of any conversation", () => {
    fc.assert(
      fc.property(brokenConversation(), (messages) => {
        const { messages: repaired } = repairConversation(messages, options);
        expect(repaired.length === 0 ? undefined : refusalOf(repaired)).toBeUndefined();
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("is accepted by the service without a repair", () => {
    fc.assert(
      fc.property(fc.oneof(brokenConversation({ maxLength: 3 }), anyConversation({ maxLength: 6 })), (messages) => {
        const isValid = validateConversation(messages, options).every(({ severity }) => severity !== "error");
        expect(isValid ? refusalOf(messages) : undefined).toBeUndefined();
      }),
      { numRuns: propertyRuns(600) },
    );
  });
});

describe("a conversation that the profile langchain repairs", () => {
  it("is accepted by the service if names, ids and content are ordinary", () => {
    fc.assert(
      fc.property(anyConversation(), (messages: BaseMessage[]) => {
        const { messages: repaired } = repairConversation(messages, { purpose: "model-input" });
        expect(repaired.length === 0 ? undefined : refusalOf(repaired)).toBeUndefined();
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
