import { openConnection } from "../../src/redis/connection.js";
import { ListTouches } from "../../src/redis-lists/touches.js";
import type { DescribedSession } from "../../src/redis-lists/entries.js";
import { OwnerLists } from "../../src/redis-lists/owner-lists.js";
import { ScriptRunner } from "../../src/redis/script-runner.js";
import { SessionDescriber } from "../../src/redis-lists/session-describer.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const owner = "ann";
const session = "copy";

/** Holds the second look at a session until it is let go: a process that has found twice that there is none. */
class HeldDescriber extends SessionDescriber {
  readonly hasLooked: Promise<void>;
  letGo!: () => void;
  #looks = 0;
  #looked!: () => void;
  readonly #held: Promise<void>;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    super(runner, keyPrefix);
    this.hasLooked = new Promise((resolve) => (this.#looked = resolve));
    this.#held = new Promise((resolve) => (this.letGo = resolve));
  }

  override async describeOf(...args: [string, string]): Promise<DescribedSession | "damaged" | undefined> {
    const found = await super.describeOf(...args);
    this.#looks += 1;
    if (this.#looks === 2) {
      this.#looked();
      await this.#held;
    }
    return found;
  }
}

describe("the announcement of a session that is not there yet", () => {
  const client = sharedClient();
  let runner: ScriptRunner;
  let owners: OwnerLists;
  let held: HeldDescriber;
  let one: ListTouches;
  let other: ListTouches;
  beforeAll(() => {
    const connection = openConnection("the test", { client }, 60_000);
    runner = new ScriptRunner({ connection, commandTimeout: 60_000, waitReplicas: undefined, onEvent: undefined });
  });
  beforeEach(() => {
    const keyPrefix = uniquePrefix();
    owners = new OwnerLists(runner, keyPrefix);
    held = new HeldDescriber(runner, keyPrefix);
    one = new ListTouches(owners, held);
    other = new ListTouches(owners, new SessionDescriber(runner, keyPrefix));
  });
  afterEach(() => [one, other].forEach((touches) => touches.close()));
  const isListed = async () => (await owners.list(owner, undefined, 9)).entries.length === 1;

  /** A write that announces the session and is refused; the process looks twice whether the session is there. */
  async function refusedWrite(): Promise<void> {
    const ended = one.begin(session, owner);
    await one.announceNow(session, owner, undefined);
    ended();
    one.touch(session, { owner, mode: "keep" });
    await held.hasLooked;
  }

  async function leave(): Promise<void> {
    held.letGo();
    await one.flush();
  }

  it("is taken back by a write that was refused", async () => {
    await refusedWrite();
    expect(await isListed()).toBe(true);
    await leave();
    expect(await isListed()).toBe(false);
  });

  it("stays where the process wrote again before it was taken back", async () => {
    await refusedWrite();
    one.begin(session, owner)();
    await leave();
    expect(await isListed()).toBe(true);
  });

  it("stays where the process announced it again before it was taken back", async () => {
    await refusedWrite();
    await one.announceNow(session, owner, undefined);
    await leave();
    expect(await isListed()).toBe(true);
  });

  it("stays where another process announced it before it was taken back", async () => {
    await refusedWrite();
    await other.announceNow(session, owner, undefined);
    await leave();
    expect(await isListed()).toBe(true);
  });

  it("stays where another process had announced it, whose write may be under way", async () => {
    await other.announceNow(session, owner, undefined);
    await refusedWrite();
    await leave();
    expect(await isListed()).toBe(true);
  });

  it("stays where a reader had read the list before another process announced it", async () => {
    await refusedWrite();
    const { entries } = await owners.list(owner, undefined, 9);
    await other.announceNow(session, owner, undefined);
    expect(await owners.drop(owner, entries, 0)).toBe(0);
    await leave();
  });
});
