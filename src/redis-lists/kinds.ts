import { keyOf, type DataKind, type DataPart } from "../redis/data-parts.js";
import type { CallName } from "../redis/errors.js";
import { eraseRunScript, eraseSteersScript, eraseThreadScript } from "../redis/lua/later-scripts.js";
import { ownerOfData, type KeyScan } from "../redis/scan-keys.js";
import type { Script } from "../redis/script.js";

/** The scope of an erasure under one id. */
export interface OthersErasure {
  /** The owner that the call names; undefined removes what is anybody's. */
  readonly owner: string | undefined;
  /** True to remove what names nobody, because the session is the caller's. */
  readonly isNamelessOwn: boolean;
  /** How long a tombstone stays; undefined leaves none, and keeps a run that is under way (`clear`). */
  readonly guardMs: number | undefined;
}

/** The reason for which a kind has no operation of its own. */
interface LeftOut {
  readonly none: string;
}

/** How a kind of data is erased with the session of its id. */
interface KindEntry {
  /** Removes it; true if there was something that counts as data. */
  readonly erase: ((scan: KeyScan, id: string, request: OthersErasure) => Promise<boolean>) | LeftOut;
}

/** Every kind of data that this package keeps. A new part of a key, or a kind without an entry, does not compile. */
const kinds: { readonly [K in DataKind]: KindEntry } = {
  session: { erase: { none: "erase-session.lua goes first, and says whose the rest is" } },
  run: {
    erase: async (scan, id, request) => {
      const { guardMs } = request;
      const isGone = await eraseBy(scan, id, { script: eraseRunScript, parts: ["run"], args: [textOf(request)] });
      if (isGone !== "KEPT") {
        // One call for each key: most are missing, and a cluster refuses a script that names missing keys of a
        // migrating slot.
        const steers = { script: eraseSteersScript, parts: ["run:steers"], args: [String(guardMs ?? "")] } as const;
        await Promise.all([eraseBy(scan, id, steers), command(scan, id, "unlink", "run:queue")]);
      }
      return isGone === "1";
    },
  },
  thread: {
    erase: async (scan, id, request) => {
      const call = { script: eraseThreadScript, args: [textOf(request)] };
      const others = await Promise.all((["items", "order"] as const).map((part) => command(scan, id, "exists", part)));
      const isAlone = others.every((count) => Number(count) === 0);
      const gone = isAlone && (await eraseBy(scan, id, { ...call, parts: ["checkpoints"] }));
      const parts = ["items", "checkpoints", "order"] as const;
      return (!gone || gone === "WHOLE" ? await eraseBy(scan, id, { ...call, parts }) : gone) === "1";
    },
  },
  lease: {
    erase: async (scan, id, { isNamelessOwn }) => {
      await (isNamelessOwn ? command(scan, id, "unlink", "lease") : undefined);
      return false;
    },
  },
  copy: { erase: { none: "a copy goes by its tag with its owner (dropCopy), or in ten minutes" } },
  item: { erase: { none: "items belong to namespaces of the application: deleteNamespace()" } },
  list: { erase: { none: "entries leave the list of the owner with the session" } },
  mailbox: { erase: { none: "it is a process's, and ends with it" } },
};

/** Removes what else lies under the id of a session, and may be removed; true if a run or a thread was. */
export async function eraseOthers(scan: KeyScan, id: string, request: OthersErasure): Promise<boolean> {
  const erased = Object.values(kinds).map(({ erase }) =>
    typeof erase === "function" ? erase(scan, id, request) : false,
  );
  return (await Promise.all(erased)).includes(true);
}

/** The owners that the thread and the run of an id name. */
export async function ownersOfOthers({ runner, keyPrefix }: KeyScan, id: string): Promise<string[]> {
  const parts = ["checkpoints", "run"] as const;
  const owners = await runner.send(nameOf(id), (client) =>
    Promise.all(parts.map((part) => ownerOfData(client, part, keyOf(keyPrefix, part, id)))),
  );
  return owners.flatMap((owner) => owner ?? []);
}

async function eraseBy(
  { runner, keyPrefix }: KeyScan,
  id: string,
  {
    script,
    parts,
    args,
  }: { readonly script: Script; readonly parts: readonly DataPart[]; readonly args: readonly string[] },
): Promise<string> {
  const keys = parts.map((part) => keyOf(keyPrefix, part, id));
  const [word, existed = "0"] = (await runner.run(nameOf(id), { script, keys, args, writes: true })) as string[];
  return word === "GONE" ? existed : word!;
}

function command(
  { runner, keyPrefix }: KeyScan,
  id: string,
  verb: "exists" | "unlink",
  part: DataPart,
): Promise<unknown> {
  const key = keyOf(keyPrefix, part, id);
  return runner.command(nameOf(id), { verb, args: [key] }, [key]);
}

function textOf({ owner, isNamelessOwn, guardMs }: OthersErasure): string {
  return JSON.stringify({ owner, isNamelessOwn, guardMs });
}

function nameOf(sessionId: string): CallName {
  return { operation: "erase", sessionId };
}
