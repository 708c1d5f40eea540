import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { summaryKey } from "../../src/conversation/messages/message.js";

/** One letter a message: what kind of message stands there, and what it calls or answers. */
export interface Sketch {
  readonly kind: "system" | "summary" | "human" | "ai" | "tool";
  /** Ids that an AI message calls, or the one that a tool message answers. */
  readonly calls: readonly string[];
  readonly text: string;
}

/** A summary as our reducers make them. */
export function summary(text: string, id?: string): HumanMessage {
  return new HumanMessage({
    content: text,
    ...(id !== undefined && { id }),
    additional_kwargs: { [summaryKey]: { count: 1 } },
  });
}

/**
 * Random conversations: system messages and summaries anywhere, greetings, parallel and interleaved calls, results that
 * stand apart, come twice or come without a call, ids that come again, and calls without a result. Every message has an
 * id of its own.
 */
export function anyConversation({
  maxLength = 40,
  text = anyText(),
}: { maxLength?: number; text?: fc.Arbitrary<string> } = {}): fc.Arbitrary<BaseMessage[]> {
  return fc.array(anySketch(text), { maxLength }).map((sketches) => sketches.map(toMessage));
}

/**
 * Well-formed conversations: rounds of a human message, steps with all their results, and an answer; a system message
 * or none.
 */
export function orderlyConversation({ maxRounds = 8 }: { maxRounds?: number } = {}): fc.Arbitrary<BaseMessage[]> {
  const step = fc.record({ results: fc.array(anyText(), { minLength: 1, maxLength: 3 }), text: anyText() });
  const round = fc.record({ question: anyText(), steps: fc.array(step, { maxLength: 6 }), answer: anyText() });
  return fc.tuple(fc.boolean(), fc.array(round, { minLength: 1, maxLength: maxRounds })).map(([withSystem, rounds]) => {
    const sketches: Sketch[] = withSystem ? [{ kind: "system", calls: [], text: "be kind" }] : [];
    rounds.forEach(({ question, steps, answer }, number) => {
      sketches.push({ kind: "human", calls: [], text: question });
      steps.forEach(({ results, text }, place) => {
        const calls = results.map((_, index) => `c${number}-${place}-${index}`);
        sketches.push({ kind: "ai", calls, text });
        results.forEach((result, index) => sketches.push({ kind: "tool", calls: [calls[index]!], text: result }));
      });
      sketches.push({ kind: "ai", calls: [], text: answer });
    });
    return sketches.map(toMessage);
  });
}

function anyText(): fc.Arbitrary<string> {
  return fc.string({ maxLength: 60 });
}

function anySketch(text: fc.Arbitrary<string>): fc.Arbitrary<Sketch> {
  // Four ids for up to forty messages: most come again.
  const id = fc.constantFrom("r0", "r1", "r2", "r3");
  const of = (kind: Sketch["kind"], calls: fc.Arbitrary<string[]>) =>
    fc.record({ kind: fc.constant(kind), calls, text });
  return fc.oneof(
    { weight: 1, arbitrary: of("system", fc.constant([])) },
    { weight: 1, arbitrary: of("summary", fc.constant([])) },
    { weight: 5, arbitrary: of("human", fc.constant([])) },
    { weight: 3, arbitrary: of("ai", fc.constant([])) },
    { weight: 5, arbitrary: of("ai", fc.uniqueArray(id, { minLength: 1, maxLength: 3 })) },
    { weight: 8, arbitrary: of("tool", fc.tuple(id)) },
  );
}

function toMessage({ kind, calls, text }: Sketch, index: number): BaseMessage {
  const id = `m${index}`;
  switch (kind) {
    case "system":
      return new SystemMessage({ content: text, id });
    case "summary":
      return summary(text, id);
    case "human":
      return new HumanMessage({ content: text, id });
    case "tool":
      return new ToolMessage({ content: text, tool_call_id: calls[0]!, name: "lookup", id });
    case "ai":
      return new AIMessage({
        content: text,
        id,
        tool_calls: calls.map((callId) => ({ type: "tool_call", id: callId, name: "lookup", args: {} })),
      });
  }
}
