import { whole } from "../model/figures-in-words.js";
import type { WhatIf } from "../model/data.js";
import { useAddressed, type AddressForm } from "./address.js";
import type { ConversationProps } from "./conversation.js";
import { FindingsPanel } from "./findings-panel.js";
import { MessagePanel } from "./message-panel.js";
import { WhatIfPanel } from "./what-if-panel.js";

/** The panel's content and handlers. */
export interface SidePanelProps extends ConversationProps {
  readonly onWhatIf: (whatIf: WhatIf | undefined) => void;
}

const tabs = ["Message", "Findings", "What if"] as const;

type Tab = (typeof tabs)[number];

/** The open tab in the address. */
const tabForm: AddressForm<Tab> = {
  name: "tab",
  read: (text) => tabs.find((tab) => idOf(tab) === text) ?? "Message",
  write: (tab) => (tab === "Message" ? undefined : idOf(tab)),
};

/** Beside the conversation: the chosen message, findings, and what another reducer would do. */
export function SidePanel(props: SidePanelProps) {
  const [open, setOpen] = useAddressed(tabForm);
  const errors = props.model.findings?.findings.filter(({ severity }) => severity === "error").length ?? 0;
  return (
    <aside class="panel" aria-label="Details">
      <div class="tabs" role="tablist" aria-label="Details" onKeyDown={(event) => moveTab(event, open, setOpen)}>
        {tabs.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`tab-${idOf(tab)}`}
            aria-selected={tab === open}
            aria-controls="panel-content"
            tabIndex={tab === open ? 0 : -1}
            onClick={() => setOpen(tab)}
          >
            {tab}
            {tab === "Findings" && errors > 0 && <span class="badge">{whole(errors)}</span>}
          </button>
        ))}
      </div>
      <div class="panel-content" id="panel-content" role="tabpanel" aria-labelledby={`tab-${idOf(open)}`} tabIndex={0}>
        {open === "Message" && <MessagePanel {...props} />}
        {open === "Findings" && <FindingsPanel {...props} />}
        {open === "What if" && <WhatIfPanel {...props} />}
      </div>
    </aside>
  );
}

function moveTab(event: KeyboardEvent, open: Tab, setOpen: (tab: Tab) => void) {
  const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
  if (step !== undefined) {
    const next = tabs[(tabs.indexOf(open) + step) % tabs.length]!;
    setOpen(next);
    document.getElementById(`tab-${idOf(next)}`)?.focus();
  }
}

function idOf(tab: string): string {
  return tab.replace(" ", "-");
}
