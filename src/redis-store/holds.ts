import { randomToken } from "../store/random-token.js";
import { checkTicket, checkTurnEntry, heldBy } from "../store/request-checks.js";
import type { HeldTicket, TurnEntry, TurnPlace, TurnQueue } from "../store/holds.js";
import type { SessionRef } from "../store/session-ref.js";
import { askOf } from "../redis/ask.js";
import { extendExpiry, type RedisExpiry } from "./expiry.js";
import { unknownReply } from "../redis/errors.js";
import { runOnSession } from "../redis/script-runner.js";
import { enterTurnScript, leaveTurnScript, renewTurnScript, restartSessionScript } from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";

/** The queue for a session's turns, in fields of its `state`. */
export class RedisTurnQueue implements TurnQueue {
  readonly #expiry: RedisExpiry;

  constructor(expiry: RedisExpiry) {
    this.#expiry = expiry;
  }

  async enter(session: SessionRef, entry: TurnEntry): Promise<TurnPlace> {
    checkTurnEntry(entry);
    const { id: sessionId, owner } = session;
    const { ticket, holdMs, graceMs, ttlMs } = entry;
    const request = JSON.stringify({ ticket, holdMs, graceMs, ttlMs, owner, epoch: randomToken() });
    const reply = await this.#run("enterTurn", session, { script: enterTurnScript, args: [request] });
    const [word, first, epoch, left] = reply as [unknown, unknown, unknown, unknown];
    if (word === "WAITS") {
      return { isHeld: false, ahead: Number(first) };
    }
    if (word !== "HELD") {
      throw unknownReply({ operation: "enterTurn", sessionId });
    }
    this.#keepAlive(session, entry, Number(left));
    return { isHeld: true, hold: { token: Number(first), epoch: String(epoch) } };
  }

  async renew(session: SessionRef, turn: HeldTicket): Promise<boolean> {
    checkTicket(turn);
    const call = { script: renewTurnScript, args: [turn.ticket, String(turn.holdMs)] };
    const [word, left] = (await this.#run("renewTurn", session, call)) as [unknown, unknown];
    if (word !== "HELD") {
      return false;
    }
    this.#keepAlive(session, turn, Number(left));
    return true;
  }

  async restart(session: SessionRef): Promise<string> {
    heldBy(session);
    const { id: sessionId, owner = "" } = session;
    const newEpoch = randomToken();
    const { log, ids, state } = this.#expiry.keysOf(sessionId);
    const args = [JSON.stringify({ ...askOf(session), newEpoch })];
    const call = { script: restartSessionScript, args, keys: [log, ids, state] };
    const reply = await this.#run("restart", session, call);
    const [, ended] = reply as [string, string];
    await this.#expiry.index.ended(sessionId, ended || owner);
    return newEpoch;
  }

  async leave(session: SessionRef, ticket: string): Promise<void> {
    await this.#run("leaveTurn", session, { script: leaveTurnScript, args: [ticket] });
  }

  /** Not waited for: a turn that is held is renewed long before its session ends. */
  #keepAlive({ id }: SessionRef, { holdMs, ttlMs }: HeldTicket, left: number): void {
    if (ttlMs === undefined || left < 0 || left >= Math.min(2 * holdMs, ttlMs / 2)) {
      return;
    }
    this.#expiry.index.aside(extendExpiry(this.#expiry, { id }, ttlMs));
  }

  #run(
    operation: string,
    { id: sessionId }: SessionRef,
    call: { readonly script: Script; readonly args: readonly string[]; readonly keys?: readonly string[] },
  ): Promise<unknown> {
    const { script, args, keys = [this.#expiry.keysOf(sessionId).state] } = call;
    return runOnSession(this.#expiry.runner, { operation, sessionId }, { script, args, keys, writes: true });
  }
}
