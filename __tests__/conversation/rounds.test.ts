import fc from "fast-check";
import { splitRounds } from "../../src/conversation/messages/rounds.js";
import { anyConversation } from "../support/conversations.js";
import { ai, human, system } from "../support/messages.js";

describe("splitRounds", () => {
  it("begins a round at each human message, and calls what comes before the first one round 0", () => {
    const messages = [system("S"), ai("hello"), human("a"), ai("b"), human("c")];
    const rounds = splitRounds(messages);
    expect(rounds.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(rounds.map(({ messages: own }) => own.length)).toEqual([2, 2, 1]);
    expect(rounds[1]!.messages[0]).toBe(messages[2]);
  });

  it("has no round 0 if the first message is human", () => {
    expect(splitRounds([human("a"), human("b")]).map(({ index }) => index)).toEqual([1, 2]);
  });

  it("counts on from a given first round; what comes before it belongs to the round before", () => {
    const rounds = splitRounds([ai("rest"), human("a"), human("b")], { firstIndex: 7 });
    expect(rounds.map(({ index }) => index)).toEqual([6, 7, 8]);
  });

  it("loses nothing and reorders nothing", () => {
    fc.assert(
      fc.property(anyConversation(), (messages) => {
        const rounds = splitRounds(messages);
        expect(rounds.flatMap((round) => round.messages)).toEqual(messages);
        expect(rounds.every(({ index }, place) => index === rounds[0]!.index + place)).toBe(true);
      }),
    );
  });
});
