import { randomOf } from "../../testkit/random.js";
import { JournalWriter } from "../journal/journal-writer.js";
import { sessionKeys } from "../../../src/store/redis/keys.js";
import { DirectConnection, SimulatedConnection } from "./connection.js";
import type { Application, Ending } from "./program.js";
import { scheduledFromMs, type PlannedFault, type PlannedLane, type Scenario } from "./scenario.js";
import { Schedule } from "./schedule.js";
import type { SimulatedServer } from "./server.js";
import type { SessionPlan } from "../plan/session-plan.js";
import { SimulatedProcess, type Happening, type World } from "./world.js";

/** The code that processes run: a copy for each, as real processes share no memory. */
export interface Programs {
  readonly processes: readonly (typeof import("./program.js"))[];
  readonly reader: typeof import("./program.js");
}

/** A time in which what was acknowledged may be lost, of one session or of all. */
export interface LossWindow {
  readonly from: number;
  readonly to: number;
  readonly session?: string;
}

/** The journals and data that a scenario left. */
export interface Left {
  /** The lines of each client's journal, by its name. */
  readonly journals: ReadonlyMap<string, readonly string[]>;
  readonly ending: Ending;
  readonly windows: readonly LossWindow[];
  readonly slots: ReadonlyMap<string, number>;
  readonly at: number;
  /** How many options the schedule had at each choice; empty where times decided. */
  readonly options: readonly number[];
}

/** A process that runs, and what ends with it. */
interface Running {
  readonly process: SimulatedProcess;
  readonly connection: SimulatedConnection;
  readonly application: Application;
  readonly incarnation: number;
  readonly died: Promise<void>;
  readonly kill: () => void;
}

/** The parts of a stage. */
interface Parts {
  readonly world: World;
  readonly server: SimulatedServer;
  readonly programs: Programs;
  readonly scenario: Scenario;
}

/** Milliseconds after which the last guard of an erasure is over. */
const untilReadMs = 20_000;

/** Longer than a client waits for a reply, than a lease and than a hold. */
const stallMs = 4_000;

/** Plays a scenario in a world: processes begin, work, fail and begin again. */
export class Stage {
  readonly #running: Running[] = [];
  readonly #journals = new Map<string, string[]>();
  readonly #windows: LossWindow[] = [];
  /** Sessions that lost a key, with their owners. */
  readonly #damaged = new Map<string, string | undefined>();
  readonly #parts: Parts;
  readonly #schedule: Schedule | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { order } = parts.scenario;
    this.#schedule = order === undefined ? undefined : new Schedule(order);
  }

  async play(): Promise<Left> {
    const { world, scenario } = this.#parts;
    const processes = new Set(scenario.lanes.map(({ process }) => process));
    processes.forEach((process) => this.#begin(process, 0));
    scenario.faults.forEach((fault) => this.#plan(fault));
    const schedule = this.#schedule;
    if (schedule !== undefined) {
      const steer = () => void (world.scheduler = (underWay) => this.#steer(schedule, underWay));
      world.plan(scheduledFromMs * 1_000, "", { happen: steer });
    }
    await world.run(this.#work(scenario.lanes));
    world.scheduler = undefined;
    await this.#parts.server.setFull(false);
    await world.run(world.wait(untilReadMs));
    const ending = await this.#read();
    const slots = this.#slots();
    const left = { journals: this.#journals, ending, windows: this.#windows, slots, at: world.now };
    return { ...left, options: schedule?.options ?? [] };
  }

  /** Lets the schedule choose, and makes its fault; undefined where that holds up all that is under way. */
  async #steer(schedule: Schedule, underWay: readonly Happening[]): Promise<Happening | undefined> {
    const { world } = this.#parts;
    const { request, sender, fault } = schedule.choose(underWay);
    if (fault === undefined) {
      return request;
    }
    const process = this.#running.findIndex((running) => running.process === sender);
    const forMs = fault === "stall" ? stallMs : 0;
    world.note(`fault ${fault} on ${sender.name}`);
    await this.#make({ kind: fault, process, session: 0, forMs, draw: 0, atMs: 0 });
    if (fault !== "stall") {
      return request;
    }
    request.due = world.now + forMs * 1_000;
    const others = underWay.filter((each) => each !== request);
    return others.length === 0 ? undefined : this.#steer(schedule, others);
  }

  async #work(lanes: readonly PlannedLane[]): Promise<void> {
    await Promise.all(lanes.map((lane) => this.#workIn(lane)));
    const drain = ({ process, application, died, incarnation }: Running) => {
      const random = randomOf(this.#parts.scenario.seed, "drain", process.name, incarnation);
      return Promise.race([this.#parts.world.within({ process, random }, () => application.drain()), died]);
    };
    await Promise.all(this.#running.map(drain));
  }

  async #workIn({ process, session, operations }: PlannedLane): Promise<void> {
    const { world, scenario } = this.#parts;
    const { plans, order } = scenario;
    const longest = order === undefined ? 10 : 4;
    let [known, lane] = [undefined as Running | undefined, undefined as ReturnType<Application["open"]> | undefined];
    let at = 0;
    let turns = 0;
    for (const [index, { name, pauseMs, draw }] of operations.entries()) {
      await world.wait(pauseMs);
      const running = this.#running[process]!;
      at = index;
      const place = { process: running.process, random: randomOf(scenario.seed, "place", process, session, draw) };
      const work = world.within(place, async () => {
        if (running !== known) {
          const nameTurn = () => `${process}.${running.incarnation}.${session}${at}${(turns += 1)}`;
          lane = running.application.open(plans[session]!, { process, name: nameTurn, longest });
          known = running;
        }
        world.note(`${running.process.name}: ${name} on ${plans[session]!.id} …`);
        await running.application.work(lane!, name, randomOf(scenario.seed, "operation", draw));
        world.note(`${running.process.name}: ${name} on ${plans[session]!.id} is over`);
      });
      await Promise.race([work, running.died]);
    }
  }

  #begin(number: number, incarnation: number): void {
    const { world, server, programs, scenario } = this.#parts;
    const name = `${number}-${incarnation}`;
    const skew = randomOf(scenario.seed, "skew", number);
    const process = new SimulatedProcess(`process ${number}`, skew.chance(0.8) ? 0 : skew.between(-5_000, 5_000));
    const connection = new SimulatedConnection(process, { world, server, pace: scenario.pace });
    connection.on("late", (says: string) => this.#noteLate(says));
    const lines: string[] = [];
    this.#journals.set(name, lines);
    const journal = new JournalWriter((line) => {
      lines.push(line);
      world.note(`  journal of ${name}: ${line.trimEnd()}`);
    });
    const { Application } = programs.processes[number]!;
    const application = world.within({ process, random: randomOf(scenario.seed, "begin", name) }, () => {
      return new Application(connection, journal, { keepsViews: number % 2 === 0 });
    });
    let kill = () => undefined as void;
    const died = new Promise<void>((resolve) => (kill = resolve));
    this.#running[number] = { process, connection, application, incarnation, died, kill };
  }

  /**
   * A request that was sent again came a second time over the connection before, behind the other. Where its session
   * was cleared in between, nothing is left to know it by, and it is stored again: no store can tell it from a new one.
   */
  #noteLate(says: string): void {
    for (const { id } of this.#parts.scenario.plans.filter(({ removals }) => removals !== "none")) {
      if (says.includes(`{${id}}`)) {
        this.#parts.world.note(`a request came twice, the first of them last: ${says}`);
        this.#windows.push({ from: this.#parts.world.now, to: Infinity, session: id });
      }
    }
  }

  #plan(fault: PlannedFault): void {
    const { world } = this.#parts;
    const due = fault.atMs * 1_000;
    if (fault.kind === "restart" || fault.kind === "takeover") {
      // A dump is older than what a replica lacks.
      const back = fault.kind === "restart" ? fault.draw * 1_000_000 : fault.draw * 50_000;
      const kept = Math.max(0, due - back);
      world.plan(kept, "the server's data are copied", { happen: () => this.#parts.server.keep() });
      this.#windows.push({ from: kept, to: due });
    }
    const says = `fault ${fault.kind} on process ${fault.process}, session ${fault.session}, for ${fault.forMs} ms`;
    world.plan(due, says, { happen: () => this.#make(fault) });
  }

  async #make({ kind, process, session, forMs, draw }: PlannedFault): Promise<void> {
    const { world, server, scenario } = this.#parts;
    const concerned = this.#running[process];
    const plan = scenario.plans[session];
    if (concerned === undefined || plan === undefined) {
      return;
    }
    switch (kind) {
      case "cut":
        return concerned.connection.cut({ arrive: draw, downMs: Math.min(forMs, 400) });
      case "lose-reply":
        return concerned.connection.loseReply({ after: 1 + Math.floor(draw * 4), downMs: Math.min(forMs, 400) });
      case "stall":
        return concerned.connection.stall(forMs);
      case "pause":
        concerned.process.pausedUntil = world.now + forMs * 1_000;
        return;
      case "kill":
        return this.#kill(process, forMs);
      case "flush-scripts":
        return server.flushScripts();
      case "full":
        await server.setFull(true);
        world.plan(world.now + forMs * 1_000, "the server has memory again", { happen: () => server.setFull(false) });
        return;
      case "expire":
        return this.#expire(plan);
      case "evict":
        return this.#evict(plan, draw);
      case "restart":
      case "takeover":
        await server.goBack();
        this.#running.forEach(({ connection }) => connection.cut({ arrive: 0, downMs: Math.min(forMs, 400) }));
    }
  }

  #kill(number: number, forMs: number): void {
    const { process, connection, incarnation, kill } = this.#running[number]!;
    connection.cut({ arrive: 0.5, downMs: 0 });
    process.isDead = true;
    this.#begin(number, incarnation + 1);
    this.#running[number]!.process.pausedUntil = this.#parts.world.now + forMs * 1_000;
    kill();
  }

  /** The keys of a session run out, all at once: to the clients it is a clear by somebody else. */
  async #expire({ id, expires }: SessionPlan): Promise<void> {
    const { world, server } = this.#parts;
    const line = (entry: object) => `${JSON.stringify(entry)}\n`;
    const journal = this.#journals.get("server-0") ?? [];
    this.#journals.set("server-0", journal);
    const asked = world.tick();
    // A write that comes in the same millisecond gives a session with an expiry all its time again.
    if (await server.expire(keysOf(id), expires === true ? 0 : 1)) {
      world.plan(world.now + 2_000, `${id} is over`, {
        happen: () => {
          journal.push(line({ at: asked, ask: asked, do: "clear", session: id }));
          journal.push(line({ at: world.tick(), told: asked, ok: true }));
        },
      });
    }
  }

  async #evict({ id, owner, isEncrypted }: SessionPlan, draw: number): Promise<void> {
    const { world, server } = this.#parts;
    if (isEncrypted && this.#damaged.has(id)) {
      return; // `state` and `ids` have its data key, and its texts are lost with both
    }
    const keys = keysOf(id);
    const key = keys[Math.floor(draw * keys.length)]!;
    if ((await server.evict(key)) > 0) {
      world.note(`evicted ${key}`);
      this.#damaged.set(id, owner);
      this.#windows.push({ from: -Infinity, to: Infinity, session: id });
    }
  }

  /** Reads what is left, past the network. */
  async #read(): Promise<Ending> {
    const { world, server, programs, scenario } = this.#parts;
    const process = new SimulatedProcess("reader", 0);
    const connection = new DirectConnection(server);
    const exists = async (id: string) => Number(await connection.call("exists", keysOf(id)));
    const expiries = async (id: string) => {
      const times = await connection.pipeline(keysOf(id).map((key) => ["pexpiretime", key])).exec();
      return times!.map(([, time]) => Number(time)).filter((time) => time >= -1);
    };
    const entries = [...this.#journals.values()]
      .flat()
      .map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
    const named = (...fields: readonly string[]) => [
      ...new Set(entries.flatMap((entry) => fields.flatMap((field) => entry[field] ?? []))),
    ];
    const erased = new Set(entries.filter((entry) => entry["do"] === "erase").map((entry) => entry["session"]!));
    const wanted = { ids: named("session", "into"), erased, owners: named("owner"), threads: named("thread") };
    const place = { process, random: randomOf(scenario.seed, "reader") };
    const slots = this.#slots();
    return world.within(place, () =>
      programs.reader.readEnding(Object.assign(connection, { exists, expiries }), {
        ...wanted,
        damaged: this.#damaged,
        slots,
      }),
    );
  }

  /** To the judges, a session stands for a slot: so they learn of failures that concern one session only. */
  #slots(): ReadonlyMap<string, number> {
    return new Map(this.#parts.scenario.plans.map(({ id }, index) => [id, index]));
  }
}

function keysOf(id: string): string[] {
  const { log, ids, state } = sessionKeys("lcmem", id);
  return [log, ids, state];
}
