import { BaseCallbackHandler } from "@langchain/core/callbacks/base";

/** Collects what models say while they run, where they stream inside of an `invoke`. */
export class SaidSoFar extends BaseCallbackHandler {
  override readonly name = "SaidSoFar";
  override awaitHandlers = true;
  readonly #texts = new Map<string, string>();

  override handleLLMNewToken(token: string, _index: unknown, runId: string): void {
    this.#texts.set(runId, (this.#texts.get(runId) ?? "") + token);
  }

  override handleLLMEnd(_output: unknown, runId: string): void {
    this.#texts.delete(runId);
  }

  /** The text of the model that has not ended; undefined where none has said anything. */
  get text(): string | undefined {
    return [...this.#texts.values()].at(-1);
  }
}
