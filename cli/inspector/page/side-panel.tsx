import { useLayoutEffect, useState } from "preact/hooks";
import { whole } from "../model/figures-in-words.js";
import type { WhatIf } from "../model/data.js";
import { useAddressed, type AddressForm } from "./address.js";
import type { ConversationProps } from "./conversation.js";
import { useIsNarrow } from "./hooks.js";
import { FindingsPanel } from "./findings-panel.js";
import { MessagePanel } from "./message-panel.js";
import type { Selection } from "./shown-moment.js";
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
  const fold = usePanelFold(props.selection);
  const choose = (tab: Tab) => {
    setOpen(tab);
    fold.setUp(true);
  };
  const errors = props.model.findings?.findings.filter(({ severity }) => severity === "error").length ?? 0;
  return (
    <aside class="panel" aria-label="Details">
      <div class="panel-top">
        <PanelTabs open={open} errors={errors} onOpen={choose} />
        {fold.isNarrow && (
          <button
            type="button"
            class="panel-fold"
            aria-expanded={fold.isUp}
            aria-controls="panel-content"
            aria-label="Details"
            onClick={() => fold.setUp(!fold.isUp)}
          >
            {fold.isUp ? "▾" : "▴"}
          </button>
        )}
      </div>
      <div
        class="panel-content"
        id="panel-content"
        role="tabpanel"
        aria-labelledby={`tab-${idOf(open)}`}
        tabIndex={0}
        hidden={fold.isNarrow && !fold.isUp}
      >
        {open === "Message" && <MessagePanel {...props} />}
        {open === "Findings" && <FindingsPanel {...props} />}
        {open === "What if" && <WhatIfPanel {...props} />}
      </div>
    </aside>
  );
}

function PanelTabs({ open, errors, onOpen }: { open: Tab; errors: number; onOpen: (tab: Tab) => void }) {
  return (
    <div class="tabs" role="tablist" aria-label="Details" onKeyDown={(event) => moveTab(event, open, onOpen)}>
      {tabs.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${idOf(tab)}`}
          aria-selected={tab === open}
          aria-controls="panel-content"
          tabIndex={tab === open ? 0 : -1}
          onClick={() => onOpen(tab)}
        >
          {tab}
          {tab === "Findings" && errors > 0 && <span class="badge">{whole(errors)}</span>}
        </button>
      ))}
    </div>
  );
}

/** On a narrow screen the panel is folded until a message or a tab is chosen. */
function usePanelFold(selection: Selection) {
  const isNarrow = useIsNarrow();
  const [isUp, setUp] = useState(false);
  const { position, place } = selection;
  useLayoutEffect(() => {
    if (position !== undefined || place !== undefined) {
      setUp(true);
    }
  }, [position, place]);
  return { isNarrow, isUp, setUp };
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
