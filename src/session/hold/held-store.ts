import { epochConflict } from "../../store/refusals.js";
import { shareLimits } from "../../store/size-limits.js";
import type { SessionStore } from "../../store/session-store.js";
import type { TurnFence, TurnQueue } from "../../store/holds.js";

/** A turn of a session: what its writes carry now. */
export interface FencedTurn {
  readonly sessionId: string;
  fence: TurnFence;
  /** True once the turn was given back in order: a reduction that goes on behind it is like that of any process. */
  isGivenBack: boolean;
}

/** The store behind each fenced one. */
const originals = new WeakMap<SessionStore, SessionStore>();

/** The store itself, where it stands behind a fence. */
export function withoutFence(store: SessionStore): SessionStore {
  return originals.get(store) ?? store;
}

/**
 * The store as a turn uses it: all writes to the turn's session carry the fence. A proxy, so that the store keeps the
 * capabilities that it has.
 */
export function fencedStore(store: SessionStore & { readonly turnQueue: TurnQueue }, turn: FencedTurn): SessionStore {
  const writes = fencedWrites(store, turn);
  const proxy = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") {
        return value;
      }
      const own = writes[name as keyof SessionStore];
      // Called on the store itself: on the proxy its private members are out of reach.
      const original = (...args: unknown[]) => Reflect.apply(value, target, args) as unknown;
      return own === undefined
        ? original
        : (...args: unknown[]) => (args[0] === turn.sessionId ? own(...args) : original(...args));
    },
  });
  originals.set(proxy, store);
  shareLimits(proxy, store);
  return proxy;
}

type Write = (...args: unknown[]) => Promise<unknown>;

function fencedWrites(
  store: SessionStore & { readonly turnQueue: TurnQueue },
  turn: FencedTurn,
): Partial<Record<keyof SessionStore, Write>> {
  const { sessionId } = turn;
  const fenced = <Request extends object>(request: Request) => {
    const { fencingToken, epoch } = turn.fence;
    return { ...request, fencingToken, expectedEpoch: epoch };
  };
  /** For a write that names the epoch which it read. */
  const asRead = <Request extends { readonly epoch: string }>(request: Request): Request => {
    const { fencingToken, epoch } = turn.fence;
    if (request.epoch !== epoch) {
      throw epochConflict(sessionId);
    }
    return { ...request, fencingToken };
  };
  const writes: { [Name in keyof SessionStore]?: SessionStore[Name] } = {
    append: (id, request) => store.append(id, fenced(request)),
    replaceTail: (id, request) => store.replaceTail!(id, fenced(request)),
    writeSide: (id, changes) => store.writeSide!(id, fenced(changes)),
    rewind: async (id, request) => store.rewind!(id, asRead(request)),
    commitReduction: async (id, request) => store.commitReduction(id, turn.isGivenBack ? request : asRead(request)),
    clear: async (id) => {
      turn.fence = { ...turn.fence, epoch: await store.turnQueue.restart(id, turn.fence) };
    },
  };
  return writes as Partial<Record<keyof SessionStore, Write>>;
}
