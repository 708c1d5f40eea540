import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { propertyRuns } from "./property-runs.js";

/** The messages that a cut may remove: neither system messages nor summaries. */
export function rest(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter((message) => !["system", "summary"].includes(roleOf(message)));
}

/** Checks that a cut leaves its input as it was: the same objects, saying the same. */
export async function expectUntouchedInput<Case extends { readonly messages: BaseMessage[] }>(
  cases: fc.Arbitrary<Case>,
  cut: (given: Case) => Promise<unknown>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const [list, texts] = [[...given.messages], JSON.stringify(given.messages)];
      await cut(given);
      expect(given.messages).toEqual(list);
      expect(JSON.stringify(given.messages)).toBe(texts);
    }),
    { numRuns: propertyRuns(100) },
  );
}
