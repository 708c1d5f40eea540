import { EventEmitter } from "node:events";
import type { Parts, SimulatedServer } from "./server.js";
import type { SimulatedProcess, World } from "./world.js";
import type { CommandBatch } from "../../../src/store/redis/connection.js";
import type { Random } from "../../testkit/random.js";

/** A command or a batch, and what the caller waits for. */
interface Request {
  readonly kind: "call" | "multi" | "pipeline";
  readonly parts: Parts;
  readonly says: string;
  readonly random: Random;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** The opening of the connection over which the server did it, the newest one; 0 before. */
  doneOver: number;
}

/** A request that was sent, on one opening of the connection. */
interface Sent {
  readonly request: Request;
  readonly opening: number;
  hasArrived: boolean;
  isLost: boolean;
}

/** How slow a network is: the shares of short, of middle and of long ways, each in milliseconds. */
export interface Pace {
  readonly short: number;
  readonly middle: number;
  readonly long: number;
}

/** A client as the package expects ioredis's. */
abstract class ClientLike extends EventEmitter {
  readonly options = {};

  call(verb: string, args: unknown[]): Promise<unknown> {
    return this.ask("call", [[verb, ...args]]);
  }

  multi(parts: Parts): CommandBatch {
    return { exec: () => this.ask("multi", parts) as ReturnType<CommandBatch["exec"]> };
  }

  pipeline(parts: Parts): CommandBatch {
    return { exec: () => this.ask("pipeline", parts) as ReturnType<CommandBatch["exec"]> };
  }

  /** By this the package knows a client of ioredis. */
  defineCommand(): void {
    throw new Error("A simulated client defines no commands.");
  }

  protected abstract ask(kind: Request["kind"], parts: Parts): Promise<unknown>;
}

/**
 * A client as ioredis's, of one process: what it sends arrives in order, and so do the replies, each after a while.
 * A cut connection sends again the calls that wait for a reply, and fails batches; so does ioredis.
 */
export class SimulatedConnection extends ClientLike {
  status: "ready" | "reconnecting" = "ready";
  readonly #world: World;
  readonly #server: SimulatedServer;
  readonly #process: SimulatedProcess;
  readonly #pace: Pace;
  #opening = 1;
  #sent: Sent[] = [];
  #waiting: Request[] = [];
  #lastArrival = 0;
  #lastReply = 0;
  #stalledUntil = 0;
  #losing: { after: number; readonly downMs: number } | undefined;

  constructor(
    process: SimulatedProcess,
    { world, server, pace }: { readonly world: World; readonly server: SimulatedServer; readonly pace: Pace },
  ) {
    super();
    this.#process = process;
    this.#world = world;
    this.#server = server;
    this.#pace = pace;
  }

  /** Nothing gets through for a while. */
  stall(milliseconds: number): void {
    this.#stalledUntil = this.#world.now + milliseconds * 1_000;
  }

  /** Cuts the connection as soon as the server has done so many more requests: the reply of the last is lost. */
  loseReply({ after, downMs }: { readonly after: number; readonly downMs: number }): void {
    this.#losing = { after, downMs };
  }

  /** Cuts the connection. Some of what is under way arrives, but no reply; it opens again after a while. */
  cut({ arrive, downMs }: { readonly arrive: number; readonly downMs: number }): void {
    const open = this.#sent;
    this.#sent = [];
    this.#opening += 1;
    const underWay = open.filter(({ hasArrived }) => !hasArrived);
    underWay.slice(Math.floor(arrive * (underWay.length + 1))).forEach((each) => (each.isLost = true));
    this.status = "reconnecting";
    this.emit("close");
    const again = open.filter(({ request }) => request.kind === "call").map(({ request }) => request);
    for (const { request } of open.filter(({ request: { kind } }) => kind !== "call")) {
      request.reject(new Error("Command aborted due to connection close"));
    }
    this.#waiting = [...again, ...this.#waiting];
    this.#stalledUntil = 0;
    const opening = this.#opening;
    const openAgain = () => {
      if (opening === this.#opening) {
        this.#open();
      }
    };
    const due = this.#world.now + downMs * 1_000;
    this.#world.plan(due, `${this.#process.name}: the connection is open again`, {
      happen: openAgain,
      process: this.#process,
    });
  }

  #open(): void {
    this.status = "ready";
    this.#lastArrival = this.#lastReply = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.emit("ready");
    waiting.forEach((request) => this.#send(request));
  }

  protected override ask(kind: Request["kind"], parts: Parts): Promise<unknown> {
    const { random } = this.#world.place!;
    return new Promise((resolve, reject) => {
      const request = { kind, parts, says: this.#server.sayingOf(parts), random, resolve, reject, doneOver: 0 };
      if (this.status === "ready") {
        this.#send(request);
      } else {
        this.#waiting.push(request);
      }
    });
  }

  #send(request: Request): void {
    const { name } = this.#process;
    const sent: Sent = { request, opening: this.#opening, hasArrived: false, isLost: false };
    this.#sent.push(sent);
    this.#lastArrival = this.#after(this.#lastArrival, request.random);
    this.#world.plan(this.#lastArrival, "", {
      sender: () => (sent.isLost ? undefined : this.#process),
      happen: () => this.#arrive(sent, name),
    });
  }

  async #arrive(sent: Sent, name: string): Promise<void> {
    const { request } = sent;
    if (sent.isLost) {
      this.#world.note(`${name}: lost on the way: ${request.says}`);
      return;
    }
    sent.hasArrived = true;
    if (request.doneOver > sent.opening) {
      this.emit("late", request.says);
    }
    request.doneOver = Math.max(request.doneOver, sent.opening);
    this.#world.note(`${name} → server: ${request.says}`);
    const outcome = await this.#server.execute(request).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error }),
    );
    if (sent.opening !== this.#opening || this.#process.isDead) {
      return;
    }
    if (this.#losesReply()) {
      return;
    }
    this.#lastReply = this.#after(this.#lastReply, request.random);
    const happen = () => this.#reply(sent, outcome);
    this.#world.plan(this.#lastReply, `${name} ← reply to ${request.says}`, { process: this.#process, happen });
  }

  #losesReply(): boolean {
    const losing = this.#losing;
    if (losing === undefined || (losing.after -= 1) > 0) {
      return false;
    }
    this.#losing = undefined;
    this.#world.note(`${this.#process.name}: the reply is lost`);
    this.cut({ arrive: 0.5, downMs: losing.downMs });
    return true;
  }

  #reply(sent: Sent, outcome: { readonly reply: unknown } | { readonly error: unknown }): void {
    if (sent.opening !== this.#opening) {
      return;
    }
    this.#sent = this.#sent.filter((each) => each !== sent);
    if ("error" in outcome) {
      sent.request.reject(outcome.error);
    } else {
      sent.request.resolve(outcome.reply);
    }
  }

  /** When something that is sent now gets there, behind what was sent before. */
  #after(last: number, random: Random): number {
    const { short, middle, long } = this.#pace;
    const [kind, length] = [random.next(), random.next()];
    const most = kind < 0.7 ? short : kind < 0.9 ? middle : long;
    const from = Math.max(this.#world.clock(), this.#stalledUntil);
    return Math.max(last + 1, from + Math.ceil(length * most * 1_000));
  }
}

/** A client at the server's side, to which nothing happens and for which no time goes by. */
export class DirectConnection extends ClientLike {
  readonly status = "ready";
  readonly #server: SimulatedServer;

  constructor(server: SimulatedServer) {
    super();
    this.#server = server;
  }

  protected override ask(kind: Request["kind"], parts: Parts): Promise<unknown> {
    return this.#server.execute({ kind, parts });
  }
}
