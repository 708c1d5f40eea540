import { useEffect, useState } from "preact/hooks";
import type { SessionReport } from "../model/data.js";
import { hashOf } from "./address.js";
import { addressOf, getJson } from "./api-client.js";

/** A session in figures, to be printed or put into a bug ticket: nothing that was said in it. */
export function ReportView({ sessionId }: { sessionId: string }) {
  const [read, setRead] = useState<{ text?: string; problem?: string }>({});
  useEffect(() => {
    getJson<SessionReport>("report", { id: sessionId }).then(setRead, (error: Error) =>
      setRead({ problem: error.message }),
    );
  }, [sessionId]);
  const { text, problem } = read;
  return (
    <div class="report">
      <div class="heading">
        <div class="heading-names">
          <h1>Report for a bug ticket</h1>
          <p class="quiet">Ids, roles, sizes and times; no texts, titles, owners, metadata or arguments.</p>
        </div>
        <div class="heading-actions">
          <a class="button" href={hashOf({ kind: "session", id: sessionId })}>
            Back to the session
          </a>
          <a class="button" href={addressOf("report.txt", { id: sessionId })} download>
            Download
          </a>
          <button type="button" class="button" disabled={text === undefined} onClick={() => print()}>
            Print
          </button>
        </div>
      </div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {/* It scrolls sideways, so the keyboard must reach it. */}
      <pre class="report-text" tabIndex={0} aria-label="Report">
        {text ?? (problem === undefined ? "Reading…" : "")}
      </pre>
    </div>
  );
}
