import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { randomUUID } from "node:crypto";
import { tokenText, type Token } from "../journal/runs.js";
import { randomOf, type Random } from "../../testkit/random.js";

/** How the messages of a written turn get their ids: from the caller, or from the package. */
export type Ids = "named" | "none";

/** The forms that a turn can have: an answer, an answer after a tool, or a conversation that is brought in at once. */
export type Shape = "answer" | "tool" | "import";

/** The kinds of messages of a conversation that is brought in, in their order. */
const pattern = ["human", "ai", "human", "call", "tool", "ai"] as const;

const words = ["river", "lantern", "copper", "meadow", "signal", "harbour", "winter", "ladder", "orchard", "paper"];

/**
 * Number of messages of a turn: drawn for an import, fixed for the others. Imports are long where the view stays small,
 * so that a run is of many messages and not of reading them.
 */
export function sizeOf(shape: Shape, random: Random, { longest }: { readonly longest: number }): number {
  return shape === "answer" ? 2 : shape === "tool" ? 4 : pattern.length * random.between(2, longest);
}

/**
 * The messages of a turn. Another attempt of a job says other words in its answers, with other ids, as a model would:
 * only the tokens are the same.
 */
export function turnMessages(
  { turn, shape, count }: { readonly turn: string; readonly shape: Shape; readonly count: number },
  { attempt, ids }: { readonly attempt: number; readonly ids: Ids },
): BaseMessage[] {
  const random = randomOf("words", turn, attempt);
  return Array.from({ length: count }, (_, index) => {
    const kind = shape === "answer" ? pattern[index]! : pattern[(index + (shape === "tool" ? 2 : 0)) % pattern.length]!;
    const id = ids === "named" ? { id: `${turn}-${index}` } : {};
    return messageOf(kind, { token: { turn, index }, attempt, words: wordsFrom(random), id });
  });
}

function messageOf(
  kind: (typeof pattern)[number],
  parts: { readonly token: Token; readonly attempt: number; readonly words: string; readonly id: { id?: string } },
): BaseMessage {
  const { token, attempt, id } = parts;
  const { turn, index } = token;
  const content = `${tokenText(token)} ${parts.words}`;
  switch (kind) {
    case "human":
      // A question is the same in every attempt.
      return new HumanMessage({ content: `${tokenText(token)} question`, ...id });
    case "call": {
      const call = {
        id: `call-${turn}-${index + 1}-${attempt}`,
        name: "lookup",
        args: { query: `${turn}-${index + 1}` },
      };
      return new AIMessage({ content, tool_calls: [{ ...call, type: "tool_call" }], ...id });
    }
    case "tool":
      return new ToolMessage({ content, tool_call_id: `call-${turn}-${index}-${attempt}`, name: "lookup", ...id });
    case "ai":
      return new AIMessage({ content, ...id });
  }
}

function wordsFrom(random: Random): string {
  return Array.from({ length: random.between(3, 25) }, () => random.pick(words)).join(" ");
}

/** The answer of a model to a turn's question: a call of the tool first where the turn has one. */
export function answerFor(turn: string, index: number, { calls }: { readonly calls: boolean }): AIMessage {
  const content = `${tokenText({ turn, index })} ${randomUUID().slice(0, 8)} answered`;
  const call = { id: `call-${randomUUID()}`, name: "lookup", args: { query: `${turn}-${index + 1}` } };
  const tool_calls = calls ? [{ ...call, type: "tool_call" as const }] : [];
  return new AIMessage({ content, id: randomUUID(), tool_calls });
}
