import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { requestSize } from "../../src/conversation/reducers/window/request-size.js";
import { noteAsked } from "../../src/memory/session/encode-records.js";
import { characterCounter } from "../history-manager/instances.js";
import { propertyRuns } from "../support/property-runs.js";

const counting = { counter: characterCounter(), names: [{ askedAs: "asked:m", isWhole: true, isRepeated: false }] };

/** Tokens of the counter for a request, and what the provider billed for it. */
type Billed = readonly [thought: number, billed: number];

/** A view of `size` tokens with answers to these requests, the oldest first. */
function viewOf(size: number, requests: readonly Billed[]): BaseMessage[] {
  const answers = requests.map(([thought, billed]) => {
    const usage_metadata = { input_tokens: billed, output_tokens: 1, total_tokens: billed + 1 };
    const answer = new AIMessage({ content: "", usage_metadata });
    noteAsked(answer, "asked:m", thought);
    return answer;
  });
  const filling = size - 3 - 10 * (answers.length + 1);
  return [...answers, new HumanMessage("h".repeat(filling))];
}

const sizeOf = (size: number, requests: readonly Billed[]) => requestSize(viewOf(size, requests), {}, counting);

describe("the size of a request behind answers whose requests the provider billed", () => {
  it.each<[string, readonly Billed[], { readonly at600: number; readonly at1200: number }]>([
    ["goes by the ratio of the bill", [[1_000, 2_000]], { at600: 1_200, at1200: 2_400 }],
    [
      "goes by the newest bill",
      [
        [500, 900],
        [1_000, 1_500],
      ],
      { at600: 900, at1200: 1_800 },
    ],
    ["adds what the counter cannot have seen", [[1_000, 4_000]], { at600: 3_600, at1200: 4_200 }],
  ])("%s", async (_, requests, { at600, at1200 }) => {
    expect(await sizeOf(600, requests)).toMatchObject({ isAnchored: true, estimate: 600, tokens: at600 });
    expect(await sizeOf(1_200, requests)).toMatchObject({ isAnchored: true, estimate: 1_200, tokens: at1200 });
  });

  it("is the estimate behind a bill of less than half, as of a list that the provider compacted", async () => {
    expect(await sizeOf(600, [[1_000, 400]])).toMatchObject({ isAnchored: false, tokens: 600 });
  });

  it("finds the way back: messages of the size that it names take no more than was asked for, and hardly less", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 500, max: 5_000 }), fc.integer({ min: 500, max: 9_000 })), {
          maxLength: 5,
        }),
        fc.integer({ min: 500, max: 9_000 }),
        async (requests, tokens) => {
          const within = (await sizeOf(1_000, requests)).messagesWithin(tokens);
          fc.pre(within > 100);
          const { tokens: taken } = await sizeOf(within, requests);
          expect(taken).toBeLessThanOrEqual(tokens);
          expect(taken).toBeGreaterThan(tokens - 4);
        },
      ),
      { numRuns: propertyRuns(200) },
    ));
});
