/**
 * A provider's memory of its own answers: the proofs of thoughts that it gave out (signatures, encrypted contents), and
 * the items that it stored. `checkWire` finds with it thoughts that the provider did not make, or that stand where they
 * were not made.
 *
 * @example
 * import { checkWire, ProviderMemory } from "langchain-redis-memory/testing";
 *
 * const memory = new ProviderMemory();
 * memory.noteProof("EqQBCgIYAh"); // the signature of a thought that the model gave
 * const thought = { type: "thinking", thinking: "Hm.", signature: "of another model" };
 * const messages = [
 *   { role: "user", content: "Hi" },
 *   { role: "assistant", content: [thought, { type: "text", text: "Hello" }] },
 *   { role: "user", content: "Bye" },
 * ];
 * const body = { model: "claude-sonnet-5-5", max_tokens: 1024, messages };
 * const [violation] = checkWire("anthropic", body, { memory }); // rule: "anthropic/foreign-thought"
 */
export class ProviderMemory {
  readonly #proofs = new Map<string, string | undefined>();
  readonly #items = new Map<string, { readonly isStored: boolean; readonly thought: string | undefined }>();

  /** Notes a proof; `prefix` is a digest of all that stood before the thought, where the provider binds it. */
  noteProof(proof: string, prefix?: string): void {
    this.#proofs.set(proof, prefix);
  }

  /** True for a proof that was given out. */
  knows(proof: string): boolean {
    return this.#proofs.has(proof);
  }

  /** The digest of all that stood before the thought with this proof; undefined if it is not bound. */
  prefixOf(proof: string): string | undefined {
    return this.#proofs.get(proof);
  }

  /** Notes an item of an answer. */
  noteItem(
    id: string,
    item: {
      /** True if the provider can look it up. */
      readonly isStored: boolean;
      /** Id of the reasoning item that it belongs to. */
      readonly thought?: string;
    },
  ): void {
    this.#items.set(id, { isStored: item.isStored, thought: item.thought });
  }

  /** True for an item that the provider can look up. */
  hasStored(id: string): boolean {
    return this.#items.get(id)?.isStored === true;
  }

  /** The id of the reasoning item that has to stand before this item. */
  thoughtOf(id: string): string | undefined {
    return this.#items.get(id)?.thought;
  }
}
