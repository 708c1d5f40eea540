import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { SessionModel } from "./session-model.js";

/** Draws the component again with every change of the session. */
export function useChanges(model: SessionModel): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => model.subscribe(() => draw(undefined)), [model]);
}

/** A state that stays while its component is out of sight. */
export function useKept<T>(model: SessionModel, name: string, initial: T): [value: T, set: (value: T) => void] {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const value = (model.unfolded.has(name) ? model.unfolded.get(name) : initial) as T;
  const set = (next: T) => {
    model.unfolded.set(name, next);
    draw(undefined);
  };
  return [value, set];
}

const narrow = matchMedia("(max-width: 760px)");

/** True on a screen that has no room for controls beside the conversation; stylesheets name the same width. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useLayoutEffect(() => {
    const follow = () => setNarrow(narrow.matches);
    narrow.addEventListener("change", follow);
    return () => narrow.removeEventListener("change", follow);
  }, []);
  return isNarrow;
}

/** Events from the server while the page is open. */
export interface LiveEvents {
  readonly onSession: () => void;
  readonly onSessions?: () => void;
  readonly onServer?: (sentence: string) => void;
}

/** Listens to the server. A connection that breaks is opened again by the browser. */
export function useLiveEvents(sessionId: string | undefined, events: LiveEvents): void {
  const latest = useRef(events);
  latest.current = events;
  useEffect(() => {
    const query = sessionId === undefined ? "" : `?${new URLSearchParams({ id: sessionId }).toString()}`;
    const source = new EventSource(`api/events${query}`);
    source.addEventListener("session", () => latest.current.onSession());
    source.addEventListener("sessions", () => latest.current.onSessions?.());
    source.addEventListener("server", (event: MessageEvent<string>) => {
      latest.current.onServer?.((JSON.parse(event.data) as { version: string }).version);
    });
    source.addEventListener("error", () => latest.current.onServer?.("The inspector does not answer."));
    return () => source.close();
  }, [sessionId]);
}
