import { useEffect, useState } from "preact/hooks";
import type { FoundInSession } from "../model/data.js";
import { whole } from "../model/figures-in-words.js";
import { useAddressed, type AddressForm } from "./address.js";
import { getJson } from "./api-client.js";
import type { Selection, ShownMoment } from "./shown-moment.js";

const pauseMs = 250;

/** The searched words in the address. */
const findForm: AddressForm<string> = {
  name: "find",
  read: (text = "") => text,
  write: (text) => (text === "" ? undefined : text),
};

interface FindBarProps {
  readonly moment: ShownMoment;
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
}

/** A search in the session, newest first; each match is a step away. */
export function FindBar({ moment: { session }, selection, onSelect }: FindBarProps) {
  const [text, setText] = useAddressed(findForm);
  const { positions, said } = useFound(session, text);
  const index = positions.indexOf(selection.position ?? -1);
  const go = (to: number) => {
    const position = positions.at(to);
    if (position !== undefined) {
      onSelect({ position });
    }
  };
  const before = index < 0 ? positions.length - 1 : index - 1;
  const after = index < 0 ? 0 : index + 1;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      go(event.shiftKey ? after % Math.max(1, positions.length) : before);
    }
  };
  return (
    <div class="find" role="search">
      <label class="budget">
        <span>Find in session</span>
        <input
          type="search"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </label>
      <Step words="Match before" mark="‹" isThere={before >= 0} onStep={() => go(before)} />
      <Step words="Match behind" mark="›" isThere={after < positions.length} onStep={() => go(after)} />
      <span class="quiet" role="status">
        {said ?? (index < 0 ? `${whole(positions.length)} found` : `${whole(index + 1)} of ${whole(positions.length)}`)}
      </span>
    </div>
  );
}

interface StepProps {
  readonly words: string;
  readonly mark: string;
  readonly isThere: boolean;
  readonly onStep: () => void;
}

function Step({ words, mark, isThere, onStep }: StepProps) {
  return (
    <button type="button" class="step" aria-label={words} disabled={!isThere} onClick={onStep}>
      {mark}
    </button>
  );
}

interface Found {
  readonly positions: readonly number[];
  /** Why there are none, or not all. */
  readonly said: string | undefined;
}

const nothing: Found = { positions: [], said: "" };

/** The messages with these words, oldest first, as far as they were found. */
function useFound({ sessionId, edition, next }: ShownMoment["session"], text: string): Found {
  const [found, setFound] = useState(nothing);
  useEffect(() => {
    let isLast = true;
    const search = async () => {
      const positions: number[] = [];
      for (let from: number | undefined = 0; from !== undefined && isLast;) {
        setFound({ positions: [...positions], said: from === 0 ? "Searching…" : `Searching, at message ${from}…` });
        const part: FoundInSession = await getJson<FoundInSession>("find", { id: sessionId, text, from });
        positions.push(...part.positions);
        from = part.next;
      }
      if (isLast) {
        setFound({ positions, said: undefined });
      }
    };
    const failed = (error: Error) => isLast && setFound({ positions: [], said: error.message });
    // While somebody types, not every letter is searched for.
    const timer = text.trim() === "" ? undefined : setTimeout(() => void search().catch(failed), pauseMs);
    setFound(nothing);
    return () => {
      isLast = false;
      clearTimeout(timer);
    };
  }, [sessionId, edition, next, text]);
  return found;
}
