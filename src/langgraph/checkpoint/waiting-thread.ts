import type { RedisWire } from "../../store/redis-store/redis-session-store.js";
import type { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { interruptChannel } from "../../memory/turns/interrupts.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import { opaqueSerializer, ThreadReader } from "./thread-reader.js";
import { ThreadStore } from "./thread-store.js";

/** False for a thread whose newest checkpoint holds no interrupt: it was answered. True where there is no thread. */
export async function threadWaits(threadId: string, wire: RedisWire, ring: KeyRing | undefined): Promise<boolean> {
  const store = new ThreadStore(wire.runner, { keyPrefix: wire.keyPrefix, threadTTL: undefined, keep: undefined });
  const { checkpoint } = await store.read(threadId, "", [""], "activeRun");
  if (checkpoint === undefined) {
    return true;
  }
  const { writes } = await new ThreadReader(threadId, opaqueSerializer, new SealedTexts(ring, "thread", wire)).open(
    checkpoint,
  );
  return writes.some(({ channel }) => channel === interruptChannel);
}
