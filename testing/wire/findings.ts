/**
 * The forms of request that {@link checkWire} knows: OpenAI's chat completions (also of DeepSeek and other servers of
 * that form) and Responses, Anthropic's Messages, Gemini's `generateContent`, Mistral's chat completions, and Bedrock's
 * Converse.
 */
export type WireKind = "openai-chat" | "openai-responses" | "anthropic" | "gemini" | "mistral" | "bedrock";

/** A rule of a provider that the body of a request breaks. */
export interface WireViolation {
  /** The rule, such as `anthropic/result-without-call`. */
  readonly rule: string;
  /** The part of the body, such as `messages[2].content[0]`. */
  readonly path: string;
  /** The reason, in the provider's words where they are known. Call ids and names may appear; texts do not. */
  readonly message: string;
  /** How the rule is known: the page that states it, or the thread that shows the provider's error. */
  readonly source: string;
}

/** The source of each rule of one form, by the rule's name. */
export type RuleSources<Rule extends string> = Readonly<Record<Rule, string>>;

/** Collects what a check finds. */
export class Findings<Rule extends string> {
  readonly violations: WireViolation[] = [];
  readonly #kind: WireKind;
  readonly #sources: RuleSources<Rule>;

  constructor(kind: WireKind, sources: RuleSources<Rule>) {
    this.#kind = kind;
    this.#sources = sources;
  }

  add(rule: Rule, path: string, message: string): void {
    this.violations.push({ rule: `${this.#kind}/${rule}`, path, message, source: this.#sources[rule] });
  }
}
