import { useRef, useState } from "preact/hooks";
import { counted } from "../model/figures-in-words.js";
import type { TestCase } from "../model/data.js";
import { getJson } from "./api-client.js";
import type { ShownMoment } from "./shown-moment.js";

type What = "view" | "transcript";

/** The chosen messages as code, as far as the server has answered. */
function useTestCase({ session, end, view }: Pick<ShownMoment, "session" | "end" | "view">) {
  const [what, setWhat] = useState<What>("view");
  const [made, setMade] = useState<{ test?: TestCase; problem?: string }>({});
  const asked = useRef(0);
  const make = (next: What) => {
    setWhat(next);
    setMade({});
    const number = (asked.current += 1);
    const take = (answer: typeof made) => number === asked.current && setMade(answer);
    const isThen = end < session.next && next === "view";
    const then: Record<string, number> = !isThen ? {} : { from: view.start, to: end, front: view.hasFront ? 1 : 0 };
    getJson<TestCase>("test-case", { id: session.sessionId, what: next, ...then }).then(
      (test) => take({ test }),
      (error: Error) => take({ problem: error.message }),
    );
  };
  return { what, made, make };
}

/** A button, and behind it the messages as code: what the model saw at the shown moment, or all. */
export function TestCaseDialog({ moment: { session, end, view } }: { moment: ShownMoment }) {
  const isNow = end >= session.next;
  const dialog = useRef<HTMLDialogElement>(null);
  const { what, made, make } = useTestCase({ session, end, view });
  const show = () => {
    make(what);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="button" onClick={show}>
        Copy as a test case
      </button>
      <dialog ref={dialog} aria-labelledby="test-case-title">
        <h2 id="test-case-title">Messages as code</h2>
        <fieldset class="choices">
          <legend>Which messages</legend>
          <WhatChoice
            what={what}
            make={make}
            value="view"
            words={isNow ? "What the model sees" : `What it saw at message ${end}`}
          />
          <WhatChoice what={what} make={make} value="transcript" words="All messages" />
        </fieldset>
        {what === "view" && view.uncounted > 0 && (
          <p role="note">Without {counted(view.uncounted, "message")} at its front that Redis no longer holds.</p>
        )}
        <TestCaseCode {...made} />
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}

interface WhatChoiceProps {
  readonly what: What;
  readonly value: What;
  readonly words: string;
  readonly make: (what: What) => void;
}

function WhatChoice({ what, value, words, make }: WhatChoiceProps) {
  return (
    <label>
      <input type="radio" name="what" checked={what === value} onChange={() => make(value)} /> {words}
    </label>
  );
}

function TestCaseCode({ test, problem }: { test?: TestCase; problem?: string }) {
  const code = useRef<HTMLTextAreaElement>(null);
  const [said, setSaid] = useState("");
  const copy = async () => {
    code.current?.select();
    try {
      await navigator.clipboard.writeText(test?.code ?? "");
      setSaid("Copied.");
    } catch {
      setSaid("The browser does not allow it. The code is selected: copy it with Ctrl-C.");
    }
  };
  return (
    <>
      <label class="field">
        <span>{test === undefined ? "Code" : `${counted(test.messages, "message")} as TypeScript`}</span>
        <textarea ref={code} rows={16} readOnly spellcheck={false} value={problem ?? test?.code ?? "…"} />
      </label>
      <p role="status">{said}</p>
      <button type="button" class="button button-main" disabled={test === undefined} onClick={() => void copy()}>
        Copy
      </button>{" "}
    </>
  );
}
