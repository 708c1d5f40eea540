// A session store of your own: the core of the contract on a Map. On a database, each method is one transaction. The
// functions of the entry `./store` check, decide and count; the store only keeps the data.
import { randomUUID } from "node:crypto";
import {
  checkSessionId,
  decideAppend,
  decideCommit,
  emptyView,
  exceedsLimit,
  planAppend,
  planRead,
  totalAfterAppend,
  type AppendRequest,
  type AppendResult,
  type CommitRequest,
  type LogPage,
  type ReadLogOptions,
  type SessionRef,
  type SessionStore,
  type SessionView,
} from "langchain-redis-memory/store";

type State = Omit<SessionView, "records" | "damaged" | "next">;

interface Session {
  state: State;
  log: string[];
  /** Message id → digest and position. */
  readonly ids: Map<string, { readonly digest: string; readonly position: number }>;
  fence: number;
  expiresAt: number;
}

export class MapSessionStore implements SessionStore {
  readonly #sessions = new Map<string, Session>();

  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(session, request);
    const found = this.#find(session);
    const digestOf = (id: string) => found?.ids.get(id)?.digest;
    const target = found && { ...viewOf(found), fence: found.fence, digestOf };
    const { fresh, duplicates, conflicts } = decideAppend({ session, request, plan }, target);
    const counts = { appended: fresh.length, duplicates, conflicts };
    if (found === undefined && fresh.length === 0) {
      return { ...counts, next: 0, epoch: "" };
    }
    const stored = found ?? newSession();
    const total = totalAfterAppend(found?.state, { fresh, counter: plan.counter });
    stored.state = { ...stored.state, ...total };
    for (const { id, digest, record } of fresh) {
      stored.ids.set(id, { digest, position: stored.state.base + stored.log.length });
      stored.log.push(record);
    }
    stored.fence = session.hold?.token ?? stored.fence;
    stored.expiresAt = request.ttlMs === undefined ? stored.expiresAt : Date.now() + request.ttlMs;
    this.#sessions.set(session.id, stored);
    const view = viewOf(stored);
    const result = { ...counts, next: view.next, epoch: view.epoch };
    return exceedsLimit(view, request) ? { ...result, view } : result;
  }

  async readView(session: SessionRef): Promise<SessionView> {
    const stored = this.#find(session);
    return stored === undefined ? emptyView() : viewOf(stored);
  }

  async readLog(caller: SessionRef, options: ReadLogOptions = {}): Promise<LogPage> {
    const session = this.#find(caller);
    const { base, next } = session === undefined ? emptyView() : viewOf(session);
    const { from, to } = planRead(options, { base, next });
    return { records: session?.log.slice(from - base, to - base) ?? [], from, base, next, damaged: false };
  }

  async commitReduction(caller: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    const session = this.#find(caller);
    const positionOf = (id: string) => session?.ids.get(id)?.position;
    const decision = decideCommit(caller, request, session && { ...viewOf(session), positionOf });
    if (session === undefined || decision === "stale") {
      return "stale";
    }
    const removed = decision.base - session.state.base;
    session.state = { ...session.state, ...decision, rev: randomUUID() };
    session.log = session.log.slice(removed);
    for (const id of request.discard?.forget ?? []) {
      if ((session.ids.get(id)?.position ?? decision.base) < decision.base) {
        session.ids.delete(id);
      }
    }
    return "committed";
  }

  async clear({ id }: SessionRef): Promise<void> {
    checkSessionId(id);
    this.#sessions.delete(id);
  }

  #find({ id }: SessionRef): Session | undefined {
    checkSessionId(id);
    const session = this.#sessions.get(id);
    return session !== undefined && Date.now() <= session.expiresAt ? session : undefined;
  }
}

function newSession(): Session {
  const state = { ...emptyView(), epoch: randomUUID(), rev: randomUUID() };
  return { state, log: [], ids: new Map(), fence: 0, expiresAt: Infinity };
}

function viewOf({ state, log }: Session): SessionView {
  const records = log.slice(state.start - state.base);
  return { ...state, next: state.base + log.length, records, damaged: false };
}
