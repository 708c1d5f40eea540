// A session store of your own: the core of the contract on a Map. On a database, each method is one transaction. The
// functions of the entry `./store` check, decide and count; the store only keeps the data.
import {
  checkCommit,
  checkPage,
  checkSessionId,
  decideAppend,
  emptyView,
  exceedsLimit,
  outOfRange,
  planAppend,
  randomToken,
  totalAfterAppend,
  totalAfterCommit,
  type AppendRequest,
  type AppendResult,
  type CommitRequest,
  type LogPage,
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

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(sessionId, request);
    const found = this.#find(sessionId);
    const digestOf = (id: string) => found?.ids.get(id)?.digest;
    const target = found && { ...viewOf(found), fence: found.fence, digestOf };
    const { fresh, duplicates, conflicts } = decideAppend({ sessionId, request, plan }, target);
    const counts = { appended: fresh.length, duplicates, conflicts };
    if (found === undefined && fresh.length === 0) {
      return { ...counts, next: 0, epoch: "" };
    }
    const session = found ?? newSession();
    const total = totalAfterAppend(found?.state, { fresh, counter: plan.counter });
    session.state = { ...session.state, ...total };
    for (const { id, digest, record } of fresh) {
      session.ids.set(id, { digest, position: session.state.base + session.log.length });
      session.log.push(record);
    }
    session.fence = request.fencingToken ?? session.fence;
    session.expiresAt = request.ttlMs === undefined ? session.expiresAt : Date.now() + request.ttlMs;
    this.#sessions.set(sessionId, session);
    const view = viewOf(session);
    const result = { ...counts, next: view.next, epoch: view.epoch };
    return exceedsLimit(view, request) ? { ...result, view } : result;
  }

  async readView(sessionId: string): Promise<SessionView> {
    const session = this.#find(sessionId);
    return session === undefined ? emptyView() : viewOf(session);
  }

  async readLog(sessionId: string, bounds: { from?: number; limit?: number } = {}): Promise<LogPage> {
    checkPage(bounds);
    const session = this.#find(sessionId);
    const { base, next } = session === undefined ? emptyView() : viewOf(session);
    const from = Math.min(Math.max(bounds.from ?? base, base), next);
    const records = session?.log.slice(from - base, from - base + (bounds.limit ?? Infinity)) ?? [];
    return { records, from, base, next, damaged: false };
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(sessionId, request);
    const session = this.#find(sessionId);
    const { epoch, rev, base, next, tokens, counter } = session === undefined ? emptyView() : viewOf(session);
    if (session === undefined || epoch !== request.epoch || rev !== request.rev || next < request.next) {
      return "stale";
    }
    const { lastId } = request;
    if (lastId !== undefined && session.ids.get(lastId)?.position !== request.next - 1) {
      return "stale";
    }
    if (request.start < base) {
      throw outOfRange("start");
    }
    const { start, head, headCount, discard } = request;
    const total = totalAfterCommit({ tokens, counter, next }, request);
    const kept = discard === undefined ? base : start;
    session.state = { ...session.state, ...total, rev: randomToken(), base: kept, start, head, headCount };
    if (discard !== undefined) {
      session.log = session.log.slice(start - base);
      const gone = discard.forget.filter((id) => (session.ids.get(id)?.position ?? start) < start);
      gone.forEach((id) => session.ids.delete(id));
    }
    return "committed";
  }

  async clear(sessionId: string): Promise<void> {
    checkSessionId(sessionId);
    this.#sessions.delete(sessionId);
  }

  #find(sessionId: string): Session | undefined {
    checkSessionId(sessionId);
    const session = this.#sessions.get(sessionId);
    return session !== undefined && Date.now() <= session.expiresAt ? session : undefined;
  }
}

function newSession(): Session {
  const state = { ...emptyView(), epoch: randomToken(), rev: randomToken() };
  return { state, log: [], ids: new Map(), fence: 0, expiresAt: Infinity };
}

function viewOf({ state, log }: Session): SessionView {
  const records = log.slice(state.start - state.base);
  return { ...state, next: state.base + log.length, records, damaged: false };
}
