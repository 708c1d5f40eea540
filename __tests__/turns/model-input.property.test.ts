import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import type { MemoryEvent } from "../../src/base/events.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { modelInput, type ModelInput, planFor } from "../../src/conversation/structure/seam/model-input.js";
import { anyConversation } from "../support/conversations.js";
import { human, system } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

const profileNames = Object.keys(builtInProfiles) as BuiltInProfile[];

interface Scene {
  readonly before: readonly BaseMessage[];
  readonly shown: readonly BaseMessage[];
  readonly profile: BuiltInProfile;
}

/** Any stored conversation, also an invalid one, and a turn of instructions and a question. */
const scene: fc.Arbitrary<Scene> = fc.record({
  before: anyConversation({ maxLength: 12 }),
  shown: fc
    .array(fc.constantFrom("Be brief.", "Be kind."), { maxLength: 2 })
    .map((instructions) => [...instructions.map(system), human("the question")]),
  profile: fc.constantFrom(...profileNames),
});

function play({ before, shown, profile }: Scene): ModelInput & { events: MemoryEvent[] } {
  const events: MemoryEvent[] = [];
  const input = modelInput({
    history: before,
    turn: shown,
    plan: planFor(builtInProfiles[profile]),
    sessionId: "s",
    onEvent: (event) => void events.push(event),
  });
  return { ...input, events };
}

const holds = (check: (scene: Scene) => void) => fc.assert(fc.property(scene, check), { numRuns: propertyRuns(125) });

describe("the conversation for a model", () => {
  it("is valid for each built-in profile where the question is last", () => {
    holds((given) => {
      const { history, turn } = play(given);
      const { profile } = given;
      const issues = validateConversation([...history, ...turn], { profile, purpose: "model-input" });
      expect(issues.filter(({ severity }) => severity === "error")).toEqual([]);
    });
  });

  it("has all system messages at the front of the history, and none in the turn", () => {
    holds((given) => {
      const { history, turn } = play(given);
      const roles = history.map((message) => roleOf(message) === "system");
      expect(roles).toEqual([...roles].sort((a, b) => Number(b) - Number(a)));
      expect(turn.filter((message) => roleOf(message) === "system")).toEqual([]);
    });
  });

  it("ends with the question as the caller brought it, and changes no message that it was given", () => {
    holds((given) => {
      const texts = JSON.stringify([given.before, given.shown]);
      const { turn } = play(given);
      expect(turn.at(-1)).toBe(given.shown.at(-1));
      expect(JSON.stringify([given.before, given.shown])).toBe(texts);
    });
  });

  it("is the stored messages themselves where nothing is wrong with them, and reports what was repaired once", () => {
    holds((given) => {
      const { history, turn, events } = play(given);
      const changed = [...history, ...turn].some(
        (message) => !given.before.includes(message) && !given.shown.includes(message),
      );
      expect(events.length).toBeLessThanOrEqual(1);
      if (changed) {
        expect(events).toHaveLength(1);
      }
    });
  });
});
