import type { MemoryEventHandler } from "../../base/events.js";
import type { KnownItems, ThreadStore } from "./thread-store.js";
import type { SealedTexts } from "../../store/sealed/sealed-texts.js";
import type { ThreadReader } from "./thread-reader.js";

/** The parts of a saver that its calls share. */
export interface SaverParts {
  readonly store: ThreadStore;
  readonly sealed: SealedTexts;
  readonly knownItems: KnownItems;
  readonly readerOf: (threadId: string) => ThreadReader;
  readonly onEvent: MemoryEventHandler | undefined;
}
