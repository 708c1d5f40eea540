import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { ServerFacts } from "../model/data.js";
import type { ModelFact } from "../model/facts-of-models.js";
import { useAddress, type OpenPlace } from "./address.js";
import { getJson } from "./api-client.js";
import { BesideView } from "./beside-view.js";
import { useLiveEvents } from "./hooks.js";
import { ReportView } from "./report-view.js";
import { SessionList } from "./session-list.js";
import { SessionModel } from "./session-model.js";
import { SessionView } from "./session-view.js";
import { ThreadView } from "./thread-view.js";

const reached = "reached";
const none: readonly ModelFact[] = [];

/** The whole page: sessions on one side, the open one on the other. */
export function InspectorPage() {
  const [place, open] = useAddress();
  const sessionId = place?.kind === "session" ? place.id : undefined;
  const [listVersion, setListVersion] = useState(0);
  const facts = useServerFacts();
  const [server, setServer] = useState(reached);
  const model = useMemo(() => (sessionId === undefined ? undefined : new SessionModel(sessionId)), [sessionId]);
  useEffect(() => void model?.refresh(), [model]);
  useLiveEvents(sessionId, {
    onSession: () => void model?.refresh(),
    onSessions: () => setListVersion((version) => version + 1),
    onServer: setServer,
  });
  const [isListOpen, setListOpen] = useState(false);
  useLayoutEffect(() => setListOpen(false), [place?.link]);
  return (
    <div class={`page${place === undefined ? "" : " page-open"}${isListOpen ? " page-list" : ""}`}>
      <a class="skip" href={`#${mainId}`} onClick={focusMain}>
        Skip to the conversation
      </a>
      <PageHeader server={server} facts={facts}>
        {place !== undefined && <ListSwitch isOpen={isListOpen} onOpen={setListOpen} />}
      </PageHeader>
      <nav class="sessions" aria-label="Sessions">
        <SessionList open={place} onOpen={open} version={listVersion} />
      </nav>
      <main id={mainId} class="main" tabIndex={-1} aria-label="Conversation">
        <Opened place={place} model={model} models={facts?.models ?? none} />
      </main>
    </div>
  );
}

/** Screens that have no room for the list beside an open session. */
function ListSwitch({ isOpen, onOpen }: { isOpen: boolean; onOpen: (isOpen: boolean) => void }) {
  return (
    <button type="button" class="button list-switch" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
      Sessions
    </button>
  );
}

interface OpenedProps {
  readonly place: OpenPlace | undefined;
  /** The session that is open. */
  readonly model: SessionModel | undefined;
  readonly models: readonly ModelFact[];
}

function Opened({ place, model, models }: OpenedProps) {
  if (place?.kind === "report") {
    return <ReportView key={place.id} sessionId={place.id} />;
  }
  if (place?.kind === "thread") {
    return <ThreadView key={place.id} threadId={place.id} />;
  }
  if (place === undefined || model === undefined) {
    return <NoSession />;
  }
  return place.beside === undefined ? (
    <SessionView key={place.link} model={model} models={models} />
  ) : (
    <BesideView key={place.link} left={model} beside={place.beside} models={models} />
  );
}

const mainId = "conversation";

/** The address behind `#` names the session and must stay. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById(mainId)?.focus();
}

function useServerFacts(): ServerFacts | undefined {
  const [facts, setFacts] = useState<ServerFacts>();
  useEffect(() => {
    getJson<ServerFacts>("server").then(setFacts, () => undefined);
  }, []);
  return facts;
}

interface PageHeaderProps {
  readonly server: string;
  readonly facts: ServerFacts | undefined;
  readonly children: ComponentChildren;
}

function PageHeader({ server, facts, children }: PageHeaderProps) {
  const address = facts === undefined ? "" : `${facts.address}, keys ${facts.prefix}:…`;
  return (
    <header class="top">
      {children}
      <p class="brand">langchain-redis-memory</p>
      <p class="server" title={address}>
        {address}
      </p>
      <p class={server === reached ? "live" : "live live-broken"} role="status">
        {server === reached ? "Live, read only" : server}
      </p>
    </header>
  );
}

function NoSession() {
  return (
    <div class="empty">
      <h1>What does the model see?</h1>
      <p>
        Choose a session. You see its whole conversation, which messages the model still sees, and for each of the
        others when and why it left the view. Of a LangGraph thread, you see its checkpoints, and what each changed.
      </p>
    </div>
  );
}
