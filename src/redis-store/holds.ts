import { randomToken } from "../store/random-token.js";
import { checkTicket, checkTurnEntry } from "../store/request-checks.js";
import type { HeldTicket, TurnEntry, TurnFence, TurnPlace, TurnQueue } from "../store/holds.js";
import type { SessionAccess } from "../store/lists.js";
import { extendExpiry, type RedisExpiry } from "./expiry.js";
import { unknownReply } from "../redis/errors.js";
import { checkedReply } from "./write-replies.js";
import { enterTurnScript, leaveTurnScript, renewTurnScript, restartSessionScript } from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";

/** The queue for a session's turns, in fields of its `state`. */
export class RedisTurnQueue implements TurnQueue {
  readonly #expiry: RedisExpiry;

  constructor(expiry: RedisExpiry) {
    this.#expiry = expiry;
  }

  async enter(sessionId: string, entry: TurnEntry): Promise<TurnPlace> {
    checkTurnEntry(entry);
    const { ticket, holdMs, graceMs, ttlMs, owner } = entry;
    const request = JSON.stringify({ ticket, holdMs, graceMs, ttlMs, owner, epoch: randomToken() });
    const reply = await this.#run("enterTurn", sessionId, { script: enterTurnScript, args: [request] });
    checkedReply({ operation: "enterTurn", sessionId }, reply);
    const [word, first, epoch, left] = reply as [unknown, unknown, unknown, unknown];
    if (word === "WAITS") {
      return { isHeld: false, ahead: Number(first) };
    }
    if (word !== "HELD") {
      throw unknownReply({ operation: "enterTurn", sessionId });
    }
    this.#keepAlive(sessionId, entry, Number(left));
    return { isHeld: true, fencingToken: Number(first), epoch: String(epoch) };
  }

  async renew(sessionId: string, turn: HeldTicket): Promise<boolean> {
    checkTicket(turn);
    const call = { script: renewTurnScript, args: [turn.ticket, String(turn.holdMs)] };
    const [word, left] = (await this.#run("renewTurn", sessionId, call)) as [unknown, unknown];
    if (word !== "HELD") {
      return false;
    }
    this.#keepAlive(sessionId, turn, Number(left));
    return true;
  }

  async restart(sessionId: string, { fencingToken, epoch, owner }: TurnFence & SessionAccess): Promise<string> {
    const newEpoch = randomToken();
    const { log, ids, state } = this.#expiry.keysOf(sessionId);
    const args = [JSON.stringify({ fencingToken, epoch, owner, newEpoch })];
    const call = { script: restartSessionScript, args, keys: [log, ids, state] };
    const reply = await this.#run("restart", sessionId, call);
    const [, ended] = checkedReply({ operation: "restart", sessionId }, reply) as [string, string];
    await this.#expiry.index.ended(sessionId, ended || (owner ?? ""));
    return newEpoch;
  }

  async leave(sessionId: string, ticket: string): Promise<void> {
    await this.#run("leaveTurn", sessionId, { script: leaveTurnScript, args: [ticket] });
  }

  /** Not waited for: a turn that is held is renewed long before its session ends. */
  #keepAlive(sessionId: string, { holdMs, ttlMs }: HeldTicket, left: number): void {
    if (ttlMs === undefined || left < 0 || left >= Math.min(2 * holdMs, ttlMs / 2)) {
      return;
    }
    this.#expiry.index.aside(extendExpiry(this.#expiry, sessionId, { ttlMs }));
  }

  #run(
    operation: string,
    sessionId: string,
    call: { readonly script: Script; readonly args: readonly string[]; readonly keys?: readonly string[] },
  ): Promise<unknown> {
    const { script, args, keys = [this.#expiry.keysOf(sessionId).state] } = call;
    return this.#expiry.runner.run({ operation, sessionId }, { script, args, keys, writes: true });
  }
}
