import { AIMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { asking, call, chunks, newSession, sourcesIn } from "./instances.js";
import { forAllAsync } from "../support/property-runs.js";
import { ConfigurationError } from "../../src/base/errors.js";
import { ReferenceManager } from "../../src/doors/tool-loop/stored/references.js";

interface TurnPlan {
  readonly instance: number;
  /** How many chunks each call finds, iteration by iteration. */
  readonly iterations: readonly (readonly number[])[];
  /** Which of the turn's sources the answer cites, by place; undefined for a turn without an answer. */
  readonly cites: readonly number[] | undefined;
  readonly commits: boolean;
}

const turnPlan: fc.Arbitrary<TurnPlan> = fc.record({
  instance: fc.nat(2),
  iterations: fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  cites: fc.option(fc.array(fc.nat(8), { maxLength: 4 }), { nil: undefined }),
  commits: fc.boolean(),
});

describe("sources, across turns on several instances", () => {
  it("have one number each, are stored with their turn, and are the same on every instance", () =>
    forAllAsync(40, fc.array(turnPlan, { minLength: 1, maxLength: 6 }), async (turns) => {
      const session = newSession();
      const instances = [session.instance(), session.instance(), session.instance()];
      const given: number[] = [];
      const stored = new Set<number>();
      for (const [number, { instance, iterations, cites, commits }] of turns.entries()) {
        const manager = instances[instance]!;
        const own: number[] = [];
        await manager.getHistoryForModelCall(asking(`question ${number}`));
        for (const [step, counts] of iterations.entries()) {
          const ids = counts.map((_, place) => `t${number}-${step}-${place}`);
          manager.appendToolCalls(ids.map((id) => call(id)));
          await manager.addToolCallResults(
            counts.map((count, place) => ({
              id: ids[place]!,
              name: "search",
              chunks: chunks(count, { id: ids[place]! }),
            })),
          );
          const { messages } = await manager.getHistoryForModelCall(asking(`question ${number}`));
          own.push(...ids.flatMap((id) => sourcesIn(messages, id)));
        }
        given.push(...own);
        const cited = (cites ?? []).flatMap((place) => own.slice(place, place + 1));
        if (cites !== undefined) {
          manager.addAssistantMessage(new AIMessage(`See ${cited.map((source) => `[source${source}]`).join(" ")}.`));
        }
        if (commits) {
          await manager.commit();
          own.forEach((source) => stored.add(source));
        } else {
          manager.discardTurn();
        }
      }
      expect(new Set(given).size).toBe(given.length);
      const transcript = await session.history().getTranscript();
      expect(validateConversation(transcript).filter(({ severity }) => severity === "error")).toEqual([]);
      const inTranscript = transcript.flatMap((message) =>
        sourcesIn([message], (message as { tool_call_id?: string }).tool_call_id ?? ""),
      );
      expect(new Set(inTranscript)).toEqual(stored);
      for (const manager of [...instances, session.instance()]) {
        await manager.getHistoryForModelCall(asking("and now?"));
        expect(manager.references.toList().map(({ sourceNumber }) => sourceNumber)).toEqual(
          [...stored].sort((a, b) => a - b),
        );
        for (const { sourceNumber, toolCallId, chunk } of manager.references.toList()) {
          expect(chunk.id).toBe(toolCallId);
          expect(
            manager.references.lookup(`${chunk.id}_${chunk.chunkId}`).map((reference) => reference.sourceNumber),
          ).toEqual([sourceNumber]);
        }
      }
    }));
});

describe("ReferenceManager", () => {
  it("finds all references to a chunk, in order", () => {
    const references = new ReferenceManager();
    references.addChunks("a", chunks(2));
    references.addChunks("b", chunks(1));
    expect(references.lookup("doc_c0").map(({ sourceNumber, toolCallId }) => [sourceNumber, toolCallId])).toEqual([
      [1, "a"],
      [3, "b"],
    ]);
    references.forget([1]);
    expect(references.lookup("doc_c0").map(({ sourceNumber }) => sourceNumber)).toEqual([3]);
    expect(references.lookup("doc_c9")).toEqual([]);
  });

  it("finds citations in any letter case, each number once, in order of mention", () => {
    const references = new ReferenceManager();
    expect(
      references.cited("As [source12] and [SOURCE2] say, and [Source12] again; [source] and source3 do not count."),
    ).toEqual([12, 2]);
    expect(references.cited("[source 7]")).toEqual([7]);
    expect(references.cited("")).toEqual([]);
  });

  it("goes on behind a number that is one", () => {
    const references = new ReferenceManager();
    references.continueFrom(20);
    expect(references.addChunks("a", chunks(1))).toEqual([20]);
    expect(() => references.continueFrom(0)).toThrow(ConfigurationError);
  });

  it("keeps its own copy of a chunk", () => {
    const references = new ReferenceManager();
    const [chunk] = chunks(1);
    references.addChunks("a", [chunk!]);
    (chunk as { text: string }).text = "changed";
    expect(references.chunkOf(1)?.text).toBe(chunks(1)[0]!.text);
  });
});
