import type { ScriptedReply } from "../../openai-server/completion.js";
import type { Fields } from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";

/**
 * An answer of a provider's model; parts that a provider does not have are left out.
 * @example
 * import { startProviderServer, type ProviderReply } from "langchain-redis-memory/testing";
 *
 * const lookup: ProviderReply = { thinking: "I should look.", toolCalls: [{ name: "lookup" }] };
 * const server = await startProviderServer({ kind: "gemini", reply: (_, count) => (count === 1 ? lookup : "done") });
 */
export interface ProviderReply extends ScriptedReply {
  /** The model's thought, which is signed in the provider's way. @default none */
  readonly thinking?: string;
  /** A query to a provider-side search tool, whose results the answer cites. @default none */
  readonly search?: string;
  /** A picture that the model made, in Base64. @default none */
  readonly image?: string;
}

/** A request that is answered. */
export interface AnsweredRequest {
  readonly body: Fields;
  readonly model: string;
  /** The number of requests so far, from 1: makes ids and signatures. */
  readonly count: number;
  /** Notes what the answer gives out. */
  readonly memory: ProviderMemory;
}

/** An event of a streamed answer. */
export interface StreamEvent {
  readonly event?: string;
  readonly data: object;
}

/** An answer, whole and as the events of a stream. */
export interface RenderedAnswer {
  readonly whole: object;
  readonly events: readonly StreamEvent[];
}

/** A signature as providers give them: text in Base64 that says nothing. */
export function signatureOf(kind: string, { count }: AnsweredRequest): string {
  return Buffer.from(`${kind} thought ${count} `.repeat(3)).toString("base64");
}

/** The arguments of a scripted call as an object and as text. */
export function argumentsOf(given: string | Fields = {}): { readonly input: unknown; readonly json: string } {
  return typeof given === "string"
    ? { input: JSON.parse(given) as unknown, json: given }
    : { input: given, json: JSON.stringify(given) };
}

/** Splits a text into two pieces, so that a stream has several events. */
export function halves(text: string): string[] {
  const middle = Math.ceil([...text].length / 2);
  return [[...text].slice(0, middle).join(""), [...text].slice(middle).join("")].filter((piece) => piece !== "");
}
