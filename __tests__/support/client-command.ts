import fc from "fast-check";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import type { SessionHold, SessionRef } from "../../src/store/contract/session-ref.js";
import { identify } from "./store-commands.js";

/** Stores on the same sessions, as several instances of an application have them, and what they were seen to answer. */
export interface Clients {
  readonly stores: readonly SessionStore[];
  /** Views of each session, as they were read or as they came back. */
  readonly views: Map<string, SessionView[]>;
  readonly fences: SessionHold[];
  /** The version of each session's label, as it was read last. */
  readonly labels: Map<string, string>;
  /** Random tokens by the order in which they were first seen, so that stores that do the same give the same names. */
  readonly tokens: Map<unknown, string>;
  /** False where the clock of the server is the machine's, so that times are not compared. */
  readonly clocksStand: boolean;
  /** Lets time pass, for the stores and for their clients. */
  pass(milliseconds: number): void;
}

/** One command of one client. */
export type ClientCommand = (clients: Clients, store: SessionStore) => Promise<unknown>;

type Run<Options> = (clients: Clients, store: SessionStore, options: Options) => Promise<unknown>;

/** A command that a failing run shows by its name and options. */
export function command<Options>(
  name: string,
  options: fc.Arbitrary<Options>,
  run: Run<Options>,
): fc.Arbitrary<ClientCommand> {
  return options.map((chosen) => {
    const own: ClientCommand = (clients, store) => run(clients, store, chosen);
    return Object.assign(own, { [fc.toStringMethod]: () => `${name} ${JSON.stringify(chosen)}` });
  });
}

export const sessions = ["s 1", "s:2", "s3", "é4"];
export const owners = ["ann", "bob"];
export const messageIds = Array.from({ length: 10 }, (_, index) => `m${index + 1}`);

export const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
/** The first ones are the likeliest, so that clients meet. */
export const session = fc.constantFrom("s 1", "s 1", "s 1", "s:2", "s:2", "s3", "é4");
export const owner = fc.constantFrom("ann", "ann", "ann", "ann", "ann", "bob", undefined);

export const newRecord: fc.Arbitrary<NewRecord> = fc
  .record({ id: fc.constantFrom(...messageIds), variant: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1) })
  .map(({ id, variant }) => {
    const role = ["human", "ai"][Number(id.slice(1)) % 2]!;
    const record = `{"type":"${role}","data":{"id":"${id}","variant":${variant}}}`;
    return { ...identify(record), record, usage: { model: `model ${variant}`, input: 1, output: 2, total: 3 } };
  });

/** The values without those that are undefined. */
export function given<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

/** The session as a caller touches it who may name an owner. */
export function called(id: string, whose: string | undefined): SessionRef {
  return { id, ...given({ owner: whose }) };
}

/** Reads a session's view, and remembers it. */
export async function look({ views }: Clients, store: SessionStore, id: string): Promise<SessionView> {
  const view = await store.readView({ id });
  views.set(id, [...(views.get(id) ?? []), view]);
  return view;
}

/** Reads a session's view, and gives the one that was read so many reads before. */
export async function lookBack(
  clients: Clients,
  store: SessionStore,
  { session: id, age }: { readonly session: string; readonly age: number },
): Promise<SessionView> {
  const view = await look(clients, store, id);
  return clients.views.get(id)!.at(-1 - age) ?? view;
}
