"use client";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

type Message = { id: string; role: string; text: string; interrupted?: boolean };
type Chat = { id: string; title?: string };
type Thread = {
  messages: Message[];
  /** A question that is on its way to the server, and one whose answer is written. */
  asking?: string;
  run?: string;
  /** The partial answer to it; `isEnded` until the stored one is here. */
  partial?: string;
  isEnded?: boolean;
  /** The question whose sending failed. */
  unsent?: string;
  problem?: string;
  isDeleted?: boolean;
};

const newThread: Thread = { messages: [] };
const problems: Record<number, string> = {
  404: "This chat was deleted.",
  409: "Another tab is asking. Retry in a moment.",
};
const failed = (status: number) => ({
  problem: problems[status] ?? `Error ${status}`,
  isDeleted: status === 404,
});
const address = (chat: string) => `/api/chats?id=${encodeURIComponent(chat)}`;
const json = { "content-type": "application/json" };
const post = (body: object) => fetch("/api/chats", { method: "POST", headers: json, body: JSON.stringify(body) });

/** The address behind # names the chat that is shown: a reload shows it again. */
const show = (chat: string) => void (location.hash = chat);
function onHash(changed: () => void) {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

export default function Page() {
  const id = useSyncExternalStore(
    onHash,
    () => location.hash.slice(1),
    () => "",
  );
  const [chats, setChats] = useState<Chat[]>([]);
  const [threads, setThreads] = useState<Record<string, Thread>>({}); // an answer belongs to its own chat
  const [text, setText] = useState("");
  const [isListOpen, setListOpen] = useState(false);
  const latest = useRef(0);
  const { messages, asking, run, partial, isEnded, problem, isDeleted } = threads[id] ?? newThread;

  const change = useCallback((chat: string, to: (thread: Thread) => Thread) => {
    setThreads((all) => ({ ...all, [chat]: to(all[chat] ?? newThread) }));
  }, []);

  /** Shows what is stored, of this and other tabs. What comes back after something newer was asked is out of date. */
  const look = useCallback(
    async (chat: string) => {
      const asked = (latest.current += 1);
      const [list, one] = await Promise.all([fetch("/api/chats"), chat === "" ? undefined : fetch(address(chat))]);
      const [found, stored] = [list.ok && ((await list.json()) as Chat[]), one?.ok && ((await one.json()) as Thread)];
      if (asked !== latest.current) {
        return;
      }
      if (found) {
        setChats(found);
      }
      if (one) {
        change(chat, (thread) => {
          const isBusy = thread.asking ?? thread.unsent ?? (thread.isEnded ? undefined : thread.run);
          return isBusy ? thread : stored ? upToRun(stored) : { ...newThread, ...failed(one.status) };
        });
      }
    },
    [change],
  );

  // Every three seconds: other tabs and other devices change chats too.
  useEffect(() => {
    const tryToLook = () => look(isDeleted ? "" : id).catch(() => undefined); // offline: the next one shows it
    const timers = [setTimeout(tryToLook), setInterval(() => !document.hidden && tryToLook(), 3_000)];
    return () => timers.forEach(clearInterval);
  }, [id, isDeleted, look]);

  // Reads the run of the chat that is shown. Leaving the chat does not stop it.
  useEffect(() => {
    if (run === undefined || isEnded) {
      return; // where it runs again, in another tab, it is read anew
    }
    let partial = "";
    const say = (text: string) => {
      partial = text;
      change(id, (thread) => ({ ...thread, partial: text }));
    };
    const source = new EventSource(`${address(id)}&run=${encodeURIComponent(run)}`);
    source.onmessage = ({ data }) => say(partial + (JSON.parse(data as string) as string));
    source.addEventListener("reset", () => say(""));
    source.addEventListener("stored", ({ data }) => say(JSON.parse(data as string) as string));
    source.addEventListener("end", () => {
      source.close(); // else it connects again
      change(id, (thread) => ({ ...thread, isEnded: true }));
      look(id).catch(() => undefined);
    });
    return () => source.close();
  }, [id, run, isEnded, change, look]);

  async function remove(chat: string) {
    await fetch(address(chat), { method: "DELETE" });
    if (chat === id) {
      show("");
    }
    await look("").catch(() => undefined);
  }

  async function send(question: Message) {
    const chat = id || crypto.randomUUID();
    const again = messages.findIndex((message) => message.id === question.id);
    const asked = { messages: [...(again < 0 ? messages : messages.slice(0, again)), question] };
    show(chat);
    latest.current += 1;
    change(chat, () => ({ ...asked, asking: question.id }));
    try {
      const { ok, status } = await post({ id: chat, messageId: question.id, text: question.text });
      change(chat, () => (ok ? { ...asked, run: question.id } : { ...asked, unsent: question.id, ...failed(status) }));
    } catch {
      const problem = "The connection broke. Retry gets the answer.";
      change(chat, () => ({ ...asked, unsent: question.id, problem }));
    }
    await look(chat).catch(() => undefined); // the question of a new chat is stored now
  }

  const running = asking ?? run;
  const lastQuestion = messages.findLast(({ role }) => role === "human");
  const open = (chat: string) => (show(chat), setListOpen(false));
  return (
    <main className="chat">
      <style>{css}</style>
      <button className="fold" aria-expanded={isListOpen} onClick={() => setListOpen(!isListOpen)}>
        Chats
      </button>
      <nav className={isListOpen ? undefined : "folded"}>
        <button onClick={() => open("")}>New chat</button>
        {chats.map(({ id, title = id }) => (
          <p key={id}>
            <button onClick={() => open(id)}>{title}</button>
            <button aria-label={`Delete ${title}`} onClick={() => void remove(id)}>
              ×
            </button>
          </p>
        ))}
      </nav>
      <section>
        <div className="log">
          <div>
            {messages.map((message) => (
              <p key={message.id}>
                <b>{message.role}</b> {message.text} {message.interrupted ? "… (stopped)" : ""}
              </p>
            ))}
            {partial && (
              <p>
                <b>ai</b> {partial}
              </p>
            )}
            {problem && <p role="alert">{problem}</p>}
          </div>
        </div>
        {!isDeleted && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              setText("");
              void send({ id: crypto.randomUUID(), role: "human", text });
            }}
          >
            <input aria-label="Message" value={text} onChange={(event) => setText(event.currentTarget.value)} />
            <button disabled={running !== undefined || text.trim() === ""}>Send</button>
            {running && (
              <button type="button" onClick={() => void post({ id, messageId: running, stop: true })}>
                Stop
              </button>
            )}
            {!running && lastQuestion && (
              <button type="button" onClick={() => void send(lastQuestion)}>
                Retry
              </button>
            )}
          </form>
        )}
      </section>
    </main>
  );
}

/** Ends with the question that is being answered: the partial answer of an earlier try is replaced. */
function upToRun(thread: Thread): Thread {
  const last = thread.messages.findIndex(({ id }) => id === thread.run);
  return last < 0 ? thread : { ...thread, messages: thread.messages.slice(0, last + 1) };
}

const css = `
.chat { display: flex; gap: 1rem; box-sizing: border-box; height: 100dvh; padding: 1rem; }
.chat nav { flex: 0 0 16rem; overflow: auto; }
.chat nav p { display: flex; gap: 0.5rem; margin: 0.5rem 0; }
.chat nav p button:first-child { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; }
.chat section { display: flex; flex: 1; flex-direction: column; gap: 0.5rem; min-width: 0; min-height: 0; }
.chat .log { display: flex; flex: 1; flex-direction: column-reverse; overflow: auto; }
.chat .log div { margin-bottom: auto; }
.chat .log p { margin: 0.5rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.chat form { display: flex; gap: 0.5rem; }
.chat input { flex: 1; min-width: 0; }
.chat button, .chat input { padding: 0.5rem; }
.chat .fold { display: none; }
@media (max-width: 700px) {
  .chat { flex-direction: column; }
  .chat .fold { display: block; align-self: start; }
  .chat nav { flex: 0 1 auto; max-height: 40dvh; }
  .chat .folded { display: none; }
}
`;
