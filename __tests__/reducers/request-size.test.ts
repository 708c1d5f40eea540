import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { requestSize, type BilledBefore } from "../../src/conversation/reducers/window/request-size.js";
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
    ["goes by the whole request, and takes a twentieth less off", [[1_000, 2_000]], { at600: 1_240, at1200: 2_400 }],
    [
      "goes by the messages that were added",
      [
        [500, 900],
        [1_000, 1_500],
      ],
      { at600: 1_020, at1200: 1_740 },
    ],
    [
      "leaves out a step over a cut",
      [
        [1_000, 3_000],
        [500, 900],
        [1_000, 1_500],
      ],
      { at600: 1_020, at1200: 1_740 },
    ],
    [
      "adds small steps up",
      [
        [760, 1_260],
        [880, 1_380],
        [1_000, 1_500],
      ],
      { at600: 1_100, at1200: 1_700 },
    ],
    [
      "learns nothing of a little growth",
      [
        [990, 1_998],
        [1_000, 2_000],
      ],
      { at600: 1_240, at1200: 2_400 },
    ],
    [
      "learns nothing of a growth that no messages can have made",
      [
        [500, 100],
        [1_000, 2_000],
      ],
      { at600: 1_240, at1200: 2_400 },
    ],
  ])("%s", async (_, requests, { at600, at1200 }) => {
    expect(await sizeOf(600, requests)).toMatchObject({ isAnchored: true, estimate: 600, tokens: at600 });
    expect(await sizeOf(1_200, requests)).toMatchObject({ isAnchored: true, estimate: 1_200, tokens: at1200 });
  });

  it("is at most a twentieth above the bill behind a cut of any size, where all tokens cost the same", async () => {
    for (let size = 100; size <= 1_000; size += 50) {
      const { tokens } = await sizeOf(size, [[1_000, 2_000]]);
      expect({ size, isNear: tokens >= 2 * size && tokens <= Math.ceil(2.1 * size) }).toEqual({ size, isNear: true });
    }
  });

  it("goes by the bill of before where no answer in view tells it, for a request with the same parts", async () => {
    const billedBefore: BilledBefore = new Map();
    const sized = async (messages: BaseMessage[], system?: string) =>
      requestSize(messages, { ...(system && { system }) }, { ...counting, billedBefore });
    const bare = [new HumanMessage("h".repeat(587))];
    expect(await sized(bare)).toMatchObject({ isAnchored: false, tokens: 600 });
    const requests: Billed[] = [
      [500, 900],
      [1_000, 1_500],
    ];
    expect((await sized(viewOf(1_200, requests))).tokens).toBe(1_740);
    expect(await sized(bare)).toMatchObject({ isAnchored: false, tokens: 1_020 });
    expect(await sized(bare, "Be brief.")).toMatchObject({ isAnchored: false, tokens: 619 });
    const within = (await sized(bare)).messagesWithin(1_140);
    expect((await sized([new HumanMessage("h".repeat(within - 13))])).tokens).toBe(1_140);
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
