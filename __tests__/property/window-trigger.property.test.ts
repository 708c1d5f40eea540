import fc from "fast-check";
import { ConfigurationError, contextWindow, type WindowTrigger } from "../../src/entries/index.js";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { ContextWindow } from "../../src/conversation/reducers/window/context-window.js";
import { windowSettings } from "../../src/conversation/reducers/window/options.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

const tokenCounter = new CountingCounter();
/** More than any of the requests takes. */
const maxInputTokens = 10_000;
const whole = { maxInputTokens, reserveForAnswer: 0, safetyMargin: 0, tokenCounter };

function anyTriggers(): fc.Arbitrary<WindowTrigger[]> {
  const few = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
  const fraction = fc.option(fc.double({ min: 0, max: 0.05, noNaN: true }), { nil: undefined });
  const named = fc
    .record({ tokens: few(400), messages: few(20), rounds: few(6), fraction })
    .map((given): WindowTrigger => {
      return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    });
  return fc.array(
    named.filter((given) => Object.keys(given).length > 0),
    { minLength: 1, maxLength: 3 },
  );
}

/** Whether a request of this size is above one of the triggers: all that it names. */
function isMet(
  triggers: readonly WindowTrigger[],
  size: { readonly tokens: number; readonly messages: number; readonly rounds: number },
): boolean {
  return triggers.some(
    ({ tokens = 0, messages = 0, rounds = 0, fraction = 0 }) =>
      size.tokens >= tokens &&
      size.messages >= messages &&
      size.rounds >= rounds &&
      size.tokens >= fraction * maxInputTokens,
  );
}

describe("a trigger of a window", () => {
  it("leaves a request as it is that fits and by which no trigger is met", async () => {
    const outcomes = { met: 0, unmet: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyConversation(), orderlyConversation()),
        anyTriggers(),
        fc.boolean(),
        async (messages, triggers, single) => {
          const chosen = single ? triggers.slice(0, 1) : triggers;
          const window = new ContextWindow(windowSettings({ ...whole, trigger: single ? chosen[0]! : chosen }));
          const measured = (await window.measure(messages))!;
          const rounds = messages.filter((message) => roleOf(message) === "human").length;
          const met = isMet(chosen, { tokens: measured.size.tokens, messages: messages.length, rounds });
          outcomes[met ? "met" : "unmet"] += 1;
          expect(window.isDue(measured, messages)).toBe(met);
          if (!met) {
            const { changed, reason } = await window.reduceWithOutcome([...messages]);
            expect([changed, reason]).toEqual([false, "within_limit"]);
          }
        },
      ),
      { numRuns: propertyRuns(200) },
    );
    expect(Math.min(outcomes.met, outcomes.unmet)).toBeGreaterThan(0);
  });

  it.each([{}, { tokens: 0 }, { messages: 1.5 }, { rounds: 0 }, { fraction: 2 }, { size: 3 }, "often"])(
    "names amounts: %j is refused",
    (wrong) => {
      expect(() => contextWindow({ trigger: wrong as WindowTrigger })).toThrow(ConfigurationError);
    },
  );

  it("in rounds reduces a request that fits, and is the size from which a history asks", async () => {
    const window = contextWindow({ maxInputTokens, tokenCounter, trigger: { rounds: 3 }, target: 0.5 });
    const rounds = (count: number) =>
      Array.from({ length: count }, (_, index) => [human(`Question ${index}`), ai(`Answer ${index}`)]).flat();
    expect(window.viewLimit).toMatchObject({ messages: 2 });
    expect(await window.reduce(rounds(2))).toBeNull();
    expect((await window.reduce(rounds(3)))!.length).toBeLessThan(6);
  });
});
