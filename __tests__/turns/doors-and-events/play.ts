import type { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { around } from "../../../src/store/contract/groups.js";
import type { SessionStore } from "../../../src/store/contract/session-store.js";
import { type DoorName, doorOf } from "./doors.js";
import type { Happening, Promised, TurnEvent } from "./events.js";
import { issuesOf, type Outcome, Scene, sketched } from "./scene.js";

/** A cell of the table. */
export interface Cell {
  readonly event: TurnEvent;
  readonly form: string;
  readonly door: DoorName;
  readonly persist: "step" | "turn";
  readonly way: string;
}

/** Opens an instance on a store of its own, through a wrapper of the store's calls. */
export type OpenStore = (wrap: (store: SessionStore) => SessionStore, reducer: TurnEvent["reducer"]) => RedisChatMemory;

/** What was found in a cell: what was promised, or not, and structure issues of the requests. */
export type Found = Promised & { readonly issues: readonly string[]; readonly repeatedIds: readonly string[] };

/** What the caller got, in the words of `Promised`. */
function callerOf({ texts, error }: Outcome, expected: string): string {
  if (error === undefined) {
    return texts.has(expected) ? expected : `something else: ${JSON.stringify([...texts])}`;
  }
  return error.name === "AbortError" || /abort/i.test(error.message) ? "stopped" : "error";
}

/** Plays a cell twice: with the next question behind the event, and with the same question again. */
export async function playCell(cell: Cell, open: OpenStore): Promise<Found> {
  const { event } = cell;
  const expected = promisedOf(cell);
  const [first, second] = [await playEvent(cell, open), await playEvent(cell, open)];
  const next = await first.scene.ask("next");
  const nextRequests = first.scene.takeRequests();
  second.scene.model.poison = {};
  await second.scene.ask(event.question ?? "Q", { turnId: "t-1" });
  const retry = { sent: second.scene.takeSent(), stored: await second.scene.stored() };
  return {
    sent: first.sent,
    stored: first.stored,
    caller: callerOf(first.outcome, expected.caller),
    next: next.texts.has("fine") ? nextRequests.map(sketched).join(" | ") : `no answer: ${next.error?.message}`,
    retry,
    // What a caller sends by itself is its own.
    issues: cell.door === "withTurn, own append" ? [] : nextRequests.flatMap((request) => issuesOf(request)),
    repeatedIds: await first.scene.repeatedIds(),
  };
}

/** What the table promises of a cell, with the door's own exceptions. */
export function promisedOf({ event, door, persist }: Cell): Promised {
  const { persists = persist, marksRefused = false, repeats } = doorOf(door);
  const isMarked = marksRefused && event.step.stored.includes("refused");
  const when = isMarked ? "step" : persists;
  const promised = { ...event[when], ...event.doors?.[door]?.[when] };
  if (repeats === undefined || promised.retry.sent.length > 0) {
    return promised;
  }
  const before = event.before?.length === 0 ? "" : "hi hello";
  const again = [repeats(before, "Q", promised.retry.stored)];
  return {
    ...promised,
    sent: event.isRetry ? again : promised.sent,
    retry: { ...promised.retry, sent: again },
  };
}

async function playEvent({ event, form, door, persist, way }: Cell, open: OpenStore) {
  const happening = event.forms[form]!;
  const controller = happening.stop && new AbortController();
  const showsWords = doorOf(door).wordWays.includes(way);
  const stopping = stopper(happening.stop, { showsWords, abort: () => controller?.abort() });
  const memory = open(stopping.wrap, event.reducer);
  const scene = new Scene(memory, { door, persist, isParsed: event.isParsed });
  for (const text of event.before ?? ["hi"]) {
    await scene.ask(text);
  }
  const question = event.question ?? "Q";
  if (event.isRetry) {
    await scene.ask(question, { turnId: "t-1" });
  }
  scene.takeSent();
  scene.model.replies = [...(happening.replies ?? [])];
  scene.model.poison = happening.poison ?? {};
  scene.model.onWord = stopping.onWord;
  scene.model.onEnd = stopping.onEnd;
  const how = { turnId: "t-1", way, signal: controller?.signal, onText: stopping.onText };
  const outcome = await scene.ask(question, how);
  [scene.model.onWord, scene.model.onEnd] = [undefined, undefined];
  scene.model.replies = [];
  stopping.end();
  return { scene, outcome, sent: scene.takeSent(), stored: await scene.stored() };
}

/** Stops a run at its place; where the caller sees words, behind the first that it has seen. */
function stopper(
  stop: Happening["stop"],
  { showsWords, abort }: { readonly showsWords: boolean; readonly abort: () => void },
) {
  let hasSeen: () => void = () => undefined;
  const seen = new Promise<void>((resolve) => (hasSeen = resolve));
  let hasAnswered = false;
  let isOver = false;
  return {
    onWord: (index: number) => {
      if (stop === "before the first word" && index === 0) {
        abort();
      } else if (stop === "in the answer" && index === 1) {
        return showsWords ? seen : abort();
      }
      return undefined;
    },
    onEnd: () => (hasAnswered = true),
    onText: (text: string) => {
      if (stop === "in the answer" && showsWords && text === "A ") {
        abort();
        hasSeen();
      }
    },
    wrap: (store: SessionStore) =>
      around(store, (call, go) => {
        if (call.method === "append" && hasAnswered && !isOver && stop === "behind the answer") {
          abort();
        }
        return go();
      }),
    end: () => (isOver = true),
  };
}

/** The ways by which an event can happen at a door; none where it cannot. */
export function waysOf({ by, doors: exceptions }: TurnEvent, door: DoorName): readonly string[] {
  const { ways, wordWays } = doorOf(door);
  const isPossible = exceptions?.[door]?.isImpossible !== true;
  const fits = (way: string) => by === undefined || (by === "words") === wordWays.includes(way);
  return isPossible ? ways.filter(fits) : [];
}
