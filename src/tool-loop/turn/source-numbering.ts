import type { ReferenceManager, SourceReference } from "../stored/reference-manager.js";
import type { SessionData } from "../stored/session-data.js";
import type { ToolResult } from "./tool-results.js";
import type { Turn } from "./turn.js";

/** Numbers the sources of tool results, in the order of the results. Runs one after the other, never in parallel. */
export class SourceNumbering {
  readonly #references: ReferenceManager;
  readonly #data: SessionData;
  #last: Promise<void> = Promise.resolve();

  constructor(references: ReferenceManager, data: SessionData) {
    this.#references = references;
    this.#data = data;
  }

  /**
   * Numbers the results added since the last run, after calling `read` to read the session. If it fails, the next run
   * numbers them.
   */
  number(turn: Turn, read: () => Promise<unknown>): Promise<void> {
    const run = this.#last.then(async () => {
      const results = turn.unnumbered();
      const count = results.reduce((sum, { chunks }) => sum + chunks.length, 0);
      if (count > 0) {
        await read();
        this.#references.continueFrom(await this.#data.reserveSources(count, this.#references.nextNumber));
        turn.number(new Map(results.map((result) => [result, this.#addSources(result)])));
      }
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  #addSources({ callId, chunks }: ToolResult): SourceReference[] {
    const numbers = this.#references.addChunks(callId, chunks);
    return numbers.map((sourceNumber, index) => ({ sourceNumber, toolCallId: callId, chunk: chunks[index]! }));
  }
}
