import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

/** A step of a thread's life: a call of one of three savers, or what a failover to an older replica does. */
type Step =
  | { readonly do: "put" | "putWrites"; readonly saver: number; readonly texts: readonly string[] }
  | { readonly do: "read"; readonly saver: number }
  | { readonly do: "replicate" | "fail over" | "resend" };

const long = (text: string) => `${text} ${"and so on ".repeat(40)}`;
const meta = { source: "loop", step: 0, parents: {} } as const;

describe("A thread that a failover set back", () => {
  const keyPrefix = uniquePrefix();
  const client = sharedClient();
  let sent: [string, string[]] | undefined;
  const noting = new Proxy(client, {
    get: (target, name) =>
      name === "call"
        ? (command: string, args: string[]) => {
            sent = /^eval/i.test(command) && args.some((text) => /^\{"token"/.test(text)) ? [command, args] : sent;
            return target.call(command, args);
          }
        : Reflect.get(target, name),
  });
  const open = () => new RedisSaver({ client: noting, keyPrefix });

  /** One thread, three savers that write it in turn, and a replica that may lack what came last. */
  class Life {
    readonly #thread = randomUUID();
    readonly #savers = [open(), open(), open()];
    #replica: (Buffer | null)[] = [null, null, null];
    #number = 0;

    async play(step: Step): Promise<void> {
      if (step.do === "put") {
        await this.#put(this.#savers[step.saver]!, step.texts);
      } else if (step.do === "putWrites") {
        await this.#putWrites(this.#savers[step.saver]!, step.texts);
      } else if (step.do === "read") {
        await this.#savers[step.saver]!.getTuple(this.#at());
      } else if (step.do === "replicate") {
        this.#replica = await Promise.all(this.#keys().map((key) => client.dumpBuffer(key)));
      } else if (step.do === "resend") {
        await (sent && client.call(...sent).catch(() => undefined));
      } else {
        await this.#failOver();
      }
    }

    async #failOver(): Promise<void> {
      await client.unlink(...this.#keys());
      for (const [index, key] of this.#keys().entries()) {
        const dump = this.#replica[index];
        await (dump && client.restore(key, 0, dump as unknown as string));
      }
    }

    async #put(saver: RedisSaver, texts: readonly string[]): Promise<void> {
      const [id, messages] = [this.#nextId(), texts.map((text) => new HumanMessage({ id: text, content: long(text) }))];
      const versions = { messages: this.#number };
      const checkpoint = { ...emptyCheckpoint(), id, channel_values: { messages }, channel_versions: versions };
      await saver.put(this.#at(), checkpoint, meta, versions);
      const { channel_values: read } = (await open().get(this.#at(id)))!;
      expect((read["messages"] as HumanMessage[]).map((message) => message.id)).toEqual(texts);
      const [listed] = await all(open().list(this.#at(), { limit: 1, filter: { source: "loop" } }));
      expect(listed!.checkpoint.channel_values).toEqual(read);
    }

    async #putWrites(saver: RedisSaver, texts: readonly string[]): Promise<void> {
      const id = this.#nextId();
      await saver.putWrites(this.#at(id), [["notes", texts.map(long)]], "task");
      const versions = { none: this.#number };
      await saver.put(this.#at(), { ...emptyCheckpoint(), id, channel_versions: versions }, meta, versions);
      const tuple = await open().getTuple(this.#at(id));
      expect(tuple!.pendingWrites).toEqual([["task", "notes", texts.map(long)]]);
    }

    #nextId(): string {
      this.#number += 1;
      return uuid6(this.#number);
    }

    #at(id?: string) {
      return { configurable: { thread_id: this.#thread, ...(id && { checkpoint_id: id }) } };
    }

    #keys(): string[] {
      return Object.values(threadKeys(keyPrefix, this.#thread));
    }
  }

  const play = async (steps: readonly Step[]) => {
    const life = new Life();
    sent = undefined;
    for (const step of steps) {
      await life.play(step);
    }
  };

  it("stores what its items lack again, also where others took their positions", async () => {
    const put = (saver: number, ...texts: string[]): Step => ({ do: "put", saver, texts });
    const lost: readonly Step[] = [put(0, "a"), { do: "replicate" }, put(0, "a", "b", "c"), { do: "fail over" }];
    await play([...lost, put(0, "a", "b", "c", "d")]);
    await play([...lost, put(1, "a", "x", "y"), put(0, "a", "b", "c", "d")]);
    await play([...lost, put(1, "a", "x", "y"), { do: "read", saver: 0 }, put(0, "a", "b", "c", "d")]);
  });

  it("never shows other values than were put", async () => {
    const saver = fc.integer({ min: 0, max: 2 });
    const texts = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 4 });
    const change = fc.record({ do: fc.constantFrom("put" as const, "putWrites" as const), saver, texts });
    const fault = fc.record({ do: fc.constantFrom("replicate" as const, "fail over" as const, "resend" as const) });
    const read = fc.record({ do: fc.constant("read" as const), saver });
    const step = fc.oneof({ weight: 3, arbitrary: change }, { weight: 3, arbitrary: fault }, read);
    const steps = fc.array(step, { minLength: 4, maxLength: 16 });
    await fc.assert(fc.asyncProperty(steps, play), { numRuns: propertyRuns(40) });
  });
});
