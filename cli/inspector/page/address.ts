import { useCallback, useLayoutEffect, useState } from "preact/hooks";

/** A session, the report of one, or a thread: what can be opened. */
export interface OpenPlace {
  readonly kind: "session" | "report" | "thread";
  readonly id: string;
  /** The address that opened it, behind `#`. */
  readonly link: string;
  /** Id of the session that is shown beside it. */
  readonly beside?: string;
}

/** The session or thread that the address names behind `#`, and how to open another session. */
export function useAddress(): [place: OpenPlace | undefined, open: (sessionId: string) => void] {
  const [place, setPlace] = useState(placeInAddress);
  useLayoutEffect(() => {
    const follow = () => {
      clearTimeout(timer);
      timer = undefined;
      unsaved.clear();
      setPlace(placeInAddress());
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const open = useCallback((id: string) => {
    location.hash = hashOf({ kind: "session", id });
  }, []);
  return [place, open];
}

/** The URL fragment of what can be opened. Half characters, which URLs cannot hold, are replaced. */
export function hashOf({ kind, id, beside }: Omit<OpenPlace, "link">): string {
  const coded = (text: string) => encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd"));
  return `#${kind}=${coded(id)}${beside === undefined ? "" : `&beside=${coded(beside)}`}`;
}

/** A state as text in the address; undefined for the state that the page begins with. */
export interface AddressForm<T> {
  readonly name: string;
  readonly read: (text: string | undefined) => T;
  readonly write: (value: T) => string | undefined;
}

/** A state that the address keeps, so that a reload and a link to a colleague show the same. */
export function useAddressed<T>({ name, read, write }: AddressForm<T>): [value: T, set: (value: T) => void] {
  const [value, setValue] = useState(() => read(fieldsInAddress().get(name) ?? undefined));
  const set = useCallback((next: T) => {
    setValue(next);
    unsaved.set(name, write(next));
    const { hash } = location;
    timer ??= setTimeout(() => saveIn(hash), pauseMs);
  }, []);
  return [value, set];
}

/** Changes for the address that wait: browsers refuse to make as many as a slider that moves. */
const unsaved = new Map<string, string | undefined>();
const pauseMs = 200;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Saves what is unsaved, unless the address leads elsewhere by now. */
function saveIn(hash: string): void {
  timer = undefined;
  if (location.hash === hash) {
    history.replaceState(history.state, "", `#${fieldsInAddress().toString().replaceAll("+", "%20")}`);
  }
  unsaved.clear();
}

function placeInAddress(): OpenPlace | undefined {
  const fields = fieldsInAddress();
  const kind = (["session", "report", "thread"] as const).find((name) => fields.get(name));
  const beside = kind === "session" ? fields.get("beside") : undefined;
  return kind && { kind, id: fields.get(kind)!, link: location.hash, ...(beside && { beside }) };
}

function fieldsInAddress(): URLSearchParams {
  const fields = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  for (const [name, text] of unsaved) {
    if (text === undefined) {
      fields.delete(name);
    } else {
      fields.set(name, text);
    }
  }
  return fields;
}
