import { useEffect, useState } from "preact/hooks";
import { counted, secondOf, whole } from "../model/figures-in-words.js";
import type { ChannelChange, CheckpointRow, ShownText, ThreadState } from "../model/threads.js";
import { getJson } from "./api-client.js";
import { Second } from "./second.js";

const pageLength = 50;

interface ReadThread {
  readonly thread?: ThreadState;
  readonly problem?: string;
}

/** The checkpoints of a LangGraph thread, newest first, with what each changed. */
export function ThreadView({ threadId }: { threadId: string }) {
  const [limit, setLimit] = useState(pageLength);
  const [reads, setReads] = useState(0);
  const { thread, problem } = useThread({ threadId, limit, reads });
  if (thread === undefined) {
    return (
      <div class="empty">
        <h1 dir="auto">{threadId}</h1>
        <p class={problem === undefined ? undefined : "problem"} role={problem === undefined ? "status" : "alert"}>
          {problem ?? "Reading checkpoints…"}
        </p>
      </div>
    );
  }
  const { checkpoints, damage, shown } = thread;
  const alert = problem ?? (damage && `The thread cannot be read: ${damage}.`);
  return (
    <div class="thread">
      <ThreadHeading thread={thread} onRead={() => setReads(reads + 1)} />
      {alert !== undefined && (
        <p class="problem" role="alert">
          {alert}
        </p>
      )}
      <Checkpoints rows={shown} />
      {shown.length >= limit && shown.length < checkpoints && (
        <button type="button" class="more" onClick={() => setLimit(limit + pageLength)}>
          Show older checkpoints
        </button>
      )}
    </div>
  );
}

function ThreadHeading({ thread, onRead }: { thread: ThreadState; onRead: () => void }) {
  const { threadId, checkpoints, items, expiresAt } = thread;
  return (
    <div class="heading">
      <div class="heading-names">
        <h1 dir="auto">{threadId}</h1>
        <p class="quiet">
          LangGraph thread · {counted(checkpoints, "checkpoint")} · {counted(items, "stored text")}
          {expiresAt !== undefined && ` · expires ${secondOf(expiresAt)}`}
        </p>
      </div>
      <div class="heading-actions">
        <button type="button" class="button" onClick={onRead}>
          Read again
        </button>
      </div>
    </div>
  );
}

/** A thread, read again with every change of `reads`. */
function useThread({ threadId, limit, reads }: { threadId: string; limit: number; reads: number }): ReadThread {
  const [read, setRead] = useState<ReadThread>({});
  useEffect(() => {
    let isLast = true;
    getJson<ThreadState>("thread", { id: threadId, limit }).then(
      (thread) => isLast && setRead({ thread }),
      (error: Error) => isLast && setRead(({ thread }) => ({ ...(thread && { thread }), problem: error.message })),
    );
    return () => {
      isLast = false;
    };
  }, [threadId, limit, reads]);
  return read;
}

function Checkpoints({ rows }: { rows: readonly CheckpointRow[] }) {
  const graphs = [...new Set(rows.map(({ ns }) => ns))];
  return (
    <>
      {graphs.map((ns) => (
        <section key={ns}>
          <h2 class="graph">{ns === "" ? "Checkpoints, newest first" : `Subgraph ${ns}`}</h2>
          <ol class="checkpoints">
            {rows
              .filter((row) => row.ns === ns)
              .map((row) => (
                <CheckpointCard key={row.id} row={row} />
              ))}
          </ol>
        </section>
      ))}
    </>
  );
}

function CheckpointCard({ row }: { row: CheckpointRow }) {
  const { id, step, source, at, next, interrupts, changes, problem } = row;
  return (
    <li class="checkpoint">
      <h3>
        {step === undefined ? "Checkpoint" : `Step ${step}`}
        {source !== undefined && `, ${source}`}
      </h3>
      <p class="quiet">
        <bdi>{id}</bdi>
        {at !== undefined && (
          <>
            {" · "}
            <Second at={at} /> (UTC)
          </>
        )}
        {next.length > 0 && ` · next: ${next.join(", ")}`}
      </p>
      {problem !== undefined && <p class="problem">It cannot be read: {problem}.</p>}
      {interrupts.map((interrupt, index) => (
        <p key={index} class="waits">
          Waits for an answer: <Value value={interrupt} />
        </p>
      ))}
      {problem === undefined && <Changes changes={changes} />}
    </li>
  );
}

function Changes({ changes }: { changes: readonly ChannelChange[] | undefined }) {
  if (changes === undefined) {
    return <p class="quiet">What changed is not known: its parent was dropped, or cannot be read.</p>;
  }
  if (changes.length === 0) {
    return <p class="quiet">No channel of the state changed.</p>;
  }
  return (
    <dl class="changes">
      {changes.map((change) => (
        <div key={change.channel}>
          <dt>{change.channel}</dt>
          <dd>{change.list === undefined ? <Other value={change.value} /> : <List list={change.list} />}</dd>
        </div>
      ))}
    </dl>
  );
}

function Other({ value }: { value: ShownText | undefined }) {
  return value === undefined ? <span class="quiet">empty now</span> : <Value value={value} />;
}

function List({ list: { before, now, added, shown } }: { list: NonNullable<ChannelChange["list"]> }) {
  const hidden = added - shown.length;
  return (
    <>
      <span class="quiet">
        {before === now ? counted(now, "element") : `${whole(before)} → ${counted(now, "element")}`}, {whole(added)} new
        {hidden > 0 && ` (the last ${whole(shown.length)} are shown)`}
      </span>
      <ul>
        {shown.map((value, index) => (
          <li key={index}>
            <Value value={value} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Value({ value: { text, length } }: { value: ShownText }) {
  return (
    <code dir="auto">
      {text}
      {length > text.length && "…"}
    </code>
  );
}
