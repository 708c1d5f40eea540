import { useCallback, useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { SessionModel } from "./session-model.js";

/** The session that the address names behind `#`, and how to open another. */
export function useAddress(): [sessionId: string | undefined, open: (sessionId: string) => void] {
  const [sessionId, setSessionId] = useState(sessionInAddress);
  useEffect(() => {
    const follow = () => setSessionId(sessionInAddress());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const open = useCallback((id: string) => {
    location.hash = hashOf(id);
  }, []);
  return [sessionId, open];
}

/** The URL fragment of a session. Half characters, which URLs cannot hold, are replaced. */
export function hashOf(sessionId: string): string {
  return `#session=${encodeURIComponent(sessionId.replace(/\p{Cs}/gu, "\ufffd"))}`;
}

function sessionInAddress(): string | undefined {
  const [, encoded] = /^#session=(.+)$/.exec(location.hash) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Draws the component anew with every change of the session. */
export function useChanges(model: SessionModel): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => model.subscribe(() => draw(undefined)), [model]);
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

/** Events from the server while the page is open. */
export interface LiveEvents {
  readonly onSession: () => void;
  readonly onSessions: () => void;
  readonly onServer: (sentence: string) => void;
}

/** Listens to the server. A connection that breaks is opened again by the browser. */
export function useLiveEvents(sessionId: string | undefined, events: LiveEvents): void {
  const latest = useRef(events);
  latest.current = events;
  useEffect(() => {
    const query = sessionId === undefined ? "" : `?${new URLSearchParams({ id: sessionId }).toString()}`;
    const source = new EventSource(`api/events${query}`);
    source.addEventListener("session", () => latest.current.onSession());
    source.addEventListener("sessions", () => latest.current.onSessions());
    source.addEventListener("server", (event: MessageEvent<string>) => {
      latest.current.onServer((JSON.parse(event.data) as { version: string }).version);
    });
    source.addEventListener("error", () => latest.current.onServer("The inspector does not answer."));
    return () => source.close();
  }, [sessionId]);
}
