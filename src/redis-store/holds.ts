import { randomToken } from "../base/ids.js";
import { checkTicket, checkHoldRequest, heldBy } from "../store/request-checks.js";
import type { HeldTicket, HoldPlace, HoldRequest } from "../store/holds.js";
import type { SessionRef } from "../store/session-ref.js";
import { askOf, runOnSession } from "../redis/script-runner.js";
import type { RedisCalls } from "./calls.js";
import { extendExpiry } from "./expiry.js";
import { unknownReply } from "../redis/errors.js";
import { takeHoldScript, giveBackHoldScript, renewHoldScript, restartSessionScript } from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";

/** Who holds a session, and who waits for it, in fields of its `state`. */
export class RedisHolds {
  readonly #calls: RedisCalls;

  constructor(calls: RedisCalls) {
    this.#calls = calls;
  }

  async take(session: SessionRef, request: HoldRequest): Promise<HoldPlace> {
    checkHoldRequest(request);
    const { id: sessionId, owner } = session;
    const { ticket, holdMs, graceMs, ttlMs } = request;
    const asked = JSON.stringify({ ticket, holdMs, graceMs, ttlMs, owner, epoch: randomToken() });
    const reply = await this.#run("takeHold", session, { script: takeHoldScript, args: [asked] });
    const [word, first, epoch, left] = reply as [unknown, unknown, unknown, unknown];
    if (word === "WAITS") {
      return { isHeld: false, ahead: Number(first) };
    }
    if (word !== "HELD") {
      throw unknownReply({ operation: "takeHold", sessionId });
    }
    this.#keepAlive(session, request, Number(left));
    return { isHeld: true, hold: { token: Number(first), epoch: String(epoch) } };
  }

  async renew(session: SessionRef, held: HeldTicket): Promise<boolean> {
    checkTicket(held);
    const call = { script: renewHoldScript, args: [held.ticket, String(held.holdMs)] };
    const [word, left] = (await this.#run("renewHold", session, call)) as [unknown, unknown];
    if (word !== "HELD") {
      return false;
    }
    this.#keepAlive(session, held, Number(left));
    return true;
  }

  async restart(session: SessionRef): Promise<string> {
    heldBy(session);
    const { id: sessionId, owner = "" } = session;
    const newEpoch = randomToken();
    const { log, ids, state } = this.#calls.placeOf(session).keys;
    const args = [JSON.stringify({ ...askOf(session), newEpoch })];
    const call = { script: restartSessionScript, args, keys: [log, ids, state] };
    const reply = await this.#run("restart", session, call);
    const [, ended] = reply as [string, string];
    await this.#calls.lists.ended(sessionId, ended || owner);
    return newEpoch;
  }

  async giveBack(session: SessionRef, ticket: string): Promise<void> {
    await this.#run("giveBackHold", session, { script: giveBackHoldScript, args: [ticket] });
  }

  /** Not waited for: a hold is renewed long before its session ends. */
  #keepAlive({ id }: SessionRef, { holdMs, ttlMs }: HeldTicket, left: number): void {
    if (ttlMs === undefined || left < 0 || left >= Math.min(2 * holdMs, ttlMs / 2)) {
      return;
    }
    this.#calls.lists.aside(extendExpiry(this.#calls, { id }, ttlMs));
  }

  #run(
    operation: string,
    session: SessionRef,
    call: { readonly script: Script; readonly args: readonly string[]; readonly keys?: readonly string[] },
  ): Promise<unknown> {
    const { script, args, keys = [this.#calls.placeOf(session).keys.state] } = call;
    return runOnSession(this.#calls.runner, { operation, sessionId: session.id }, { script, args, keys, writes: true });
  }
}
