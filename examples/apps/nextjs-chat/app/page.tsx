"use client";
import { useEffect, useState } from "react";

type Message = { id: string; role: string; text: string; interrupted?: boolean };
type Chat = { id: string; title?: string };
/** What is shown of a chat: `asking` is a question that was sent, `run` one whose answer is written, `said` so far. */
type Thread = { messages: Message[]; asking?: string; run?: string; said?: string; problem?: string };

const problems: Record<number, string> = {
  404: "This chat was deleted.",
  409: "Another tab is at it. Retry in a moment.",
};
const problemOf = (status: number) => problems[status] ?? `Error ${status}`;
const address = (chat: string) => `/api/chats?id=${encodeURIComponent(chat)}`;
const post = (body: object) => fetch("/api/chats", { method: "POST", body: JSON.stringify(body) });

export default function Page() {
  const [chats, setChats] = useState<Chat[]>([]);
  const [id, setId] = useState<string>();
  const [threads, setThreads] = useState<Record<string, Thread>>({}); // an answer belongs to its own chat
  const [text, setText] = useState("");
  const { messages, asking, run, said, problem } = threads[id ?? ""] ?? { messages: [] };

  const change = (chat: string, to: (thread: Thread) => Thread) =>
    setThreads((all) => ({ ...all, [chat]: to(all[chat] ?? { messages: [] }) }));

  async function list() {
    const answer = await fetch("/api/chats");
    if (answer.ok) {
      setChats((await answer.json()) as Chat[]);
    }
  }

  /** Shows what is stored of a chat, and follows the answer that is written. */
  async function load(chat: string) {
    const answer = await fetch(address(chat));
    const stored = answer.ok ? ((await answer.json()) as Thread) : { messages: [], problem: problemOf(answer.status) };
    change(chat, (thread) => (thread.asking === undefined ? upToRun(stored, thread) : thread));
  }

  function show(chat?: string) {
    setId(chat);
    history.replaceState(null, "", `#${chat ?? ""}`); // a reload shows it again
  }

  useEffect(() => {
    const chat = location.hash.slice(1);
    void list();
    if (chat !== "") {
      show(chat);
      void load(chat);
    }
  }, []);

  // Reads the run of the chat that is shown. Who leaves it does not stop it.
  useEffect(() => {
    if (id === undefined || run === undefined) {
      return;
    }
    let said = "";
    const say = (text: string) => {
      said = text;
      change(id, (thread) => ({ ...thread, said: text }));
    };
    const source = new EventSource(`${address(id)}&run=${encodeURIComponent(run)}`);
    source.onmessage = ({ data }) => say(said + (JSON.parse(data as string) as string));
    source.addEventListener("reset", () => say(""));
    source.addEventListener("stored", ({ data }) => say(JSON.parse(data as string) as string));
    source.addEventListener("end", () => {
      source.close(); // else it connects again
      void load(id).then(list);
    });
    return () => source.close();
  }, [id, run]);

  async function remove(chat: string) {
    await fetch(address(chat), { method: "DELETE" });
    if (chat === id) {
      show();
    }
    await list();
  }

  async function send(question: Message, chat = id ?? crypto.randomUUID()) {
    const again = messages.findIndex((message) => message.id === question.id);
    const asked = { messages: [...(again < 0 ? messages : messages.slice(0, again)), question] };
    show(chat);
    change(chat, () => ({ ...asked, asking: question.id }));
    try {
      const answer = await post({ id: chat, messageId: question.id, text: question.text });
      change(chat, () =>
        answer.ok ? { ...asked, run: question.id } : { ...asked, problem: problemOf(answer.status) },
      );
    } catch {
      change(chat, () => ({ ...asked, problem: "The connection broke. Retry gets the answer." }));
    }
    await list(); // the question of a new chat is stored now
  }

  const running = asking ?? run;
  const lastQuestion = messages.findLast(({ role }) => role === "human");
  return (
    <main style={{ display: "flex", gap: "2rem" }}>
      <nav>
        <button onClick={() => show()}>New chat</button>
        {chats.map(({ id, title = id }) => (
          <p key={id}>
            <button onClick={() => (show(id), void load(id))}>{title}</button>
            <button aria-label={`Delete ${title}`} onClick={() => void remove(id)}>
              ×
            </button>
          </p>
        ))}
      </nav>
      <section>
        {messages.map((message) => (
          <p key={message.id}>
            <b>{message.role}</b> {message.text} {message.interrupted ? "… (stopped)" : ""}
          </p>
        ))}
        {run && said && (
          <p>
            <b>ai</b> {said}
          </p>
        )}
        {problem && <p role="alert">{problem}</p>}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setText("");
            void send({ id: crypto.randomUUID(), role: "human", text });
          }}
        >
          <input aria-label="Message" value={text} onChange={(event) => setText(event.currentTarget.value)} />
          <button disabled={running !== undefined || text.trim() === ""}>Send</button>
        </form>
        {running && <button onClick={() => void post({ id, messageId: running, stop: true })}>Stop</button>}
        {!running && lastQuestion && <button onClick={() => void send(lastQuestion)}>Retry</button>}
      </section>
    </main>
  );
}

/** A question that is being answered stands last; what a stopped answer said before goes. */
function upToRun(thread: Thread, shown: Thread): Thread {
  const last = thread.messages.findIndex(({ id }) => id === thread.run);
  const said = shown.run === thread.run ? shown.said : undefined; // until more of it comes
  return last < 0 ? thread : { ...thread, said, messages: thread.messages.slice(0, last + 1) };
}
