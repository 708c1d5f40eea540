import type { VirtualItem } from "@tanstack/virtual-core";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { WhatIf } from "../model/data.js";
import type { Row } from "../model/row-model.js";
import { ConversationRow } from "./conversation-row.js";
import { OverviewBand } from "./overview-band.js";
import type { SessionModel } from "./session-model.js";
import type { Selection, ShownMoment } from "./shown-moment.js";
import { useVirtualRows, type RowVirtualizer } from "./virtual-rows.js";

/** Properties that all parts of the conversation share. */
export interface ConversationProps {
  readonly model: SessionModel;
  readonly moment: ShownMoment;
  readonly selection: Selection;
  readonly whatIf: WhatIf | undefined;
  readonly budget: number | undefined;
  readonly onSelect: (selection: Selection) => void;
}

/** The rounds of the session, with a band that shows what became of each message. Only what is in sight is drawn. */
export function Conversation(props: ConversationProps) {
  const { model, moment, selection, onSelect } = props;
  const { rows } = moment;
  const scroller = useRef<HTMLDivElement>(null);
  const chosen = rowOf(moment, selection);
  const [active, setActive] = useState(chosen);
  const list = useRowList(moment, { scroller, active });
  useLayoutEffect(() => setActive(chosen >= 0 ? chosen : active), [selection]);
  useChosenInSight(list, { scroller, chosen, selection });
  const items = list.getVirtualItems();
  useEffect(() =>
    fetchVisible(
      model,
      items.map(({ index }) => rows[index]),
    ),
  );
  const choose = (index: number) => {
    setActive(index);
    onSelect(selectionOf(rows[index]));
  };
  const move = (event: KeyboardEvent) => moveFocus(event, { index: active, count: rows.length, choose, scroller });
  const entrance = active < 0 ? rows.length - 1 : active;
  const shared = { ...props, list, chosen, entrance, choose, onEnter: setActive };
  return (
    <div class="conversation">
      <div ref={scroller} class="scroller" tabIndex={-1} onKeyDown={move}>
        <ol class="rows" aria-label="Messages" style={{ height: `${list.getTotalSize()}px` }}>
          {items.map((item) => (
            <RowItem key={item.key} {...shared} item={item} />
          ))}
        </ol>
      </div>
      <OverviewBand moment={moment} whatIf={props.whatIf} onJump={(position) => onSelect({ position })} />
    </div>
  );
}

/** The list of the rows, at its end at first. */
function useRowList(
  moment: ShownMoment,
  { scroller, active }: { readonly scroller: Movement["scroller"]; readonly active: number },
): RowVirtualizer {
  const { rows } = moment;
  const list = useVirtualRows(scroller, {
    count: rows.length,
    // All rows are laid out again where this function is another one.
    keyOf: useCallback((index) => rows[index]?.key ?? String(index), [rows]),
    sizeOf: (index) => estimate(moment, rows[index]),
    pinned: active,
  });
  // Another moment is shown from its end, which is what the model read last; a chosen message of the address is shown.
  const isNow = moment.end >= moment.session.next;
  const isOpened = useRef(false);
  useEffect(() => {
    if (isOpened.current || active < 0) {
      list.scrollToEnd();
    }
    isOpened.current = true;
  }, [list, isNow ? undefined : moment.end]);
  return list;
}

/** Brings a message into sight when it is chosen, and again where the list changes size before the reader moves. */
function useChosenInSight(list: RowVirtualizer, { scroller, chosen, selection }: ChosenRow): void {
  useLayoutEffect(() => {
    const show = () => chosen >= 0 && list.scrollToIndex(chosen, { align: "auto" });
    show();
    const element = scroller.current!;
    // On a narrow screen the panel comes up with the choice, grows with what it loads, and leaves less room. A frame
    // later the list knows its size.
    let frame = 0;
    const observer = new ResizeObserver(() => (frame = requestAnimationFrame(show)));
    observer.observe(element);
    const leave = () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
    const moves = ["wheel", "pointerdown", "keydown"];
    moves.forEach((type) => element.addEventListener(type, leave, { passive: true }));
    return () => {
      leave();
      moves.forEach((type) => element.removeEventListener(type, leave));
    };
  }, [selection]);
}

interface ChosenRow {
  readonly scroller: Movement["scroller"];
  readonly chosen: number;
  readonly selection: Selection;
}

interface RowItemProps extends ConversationProps {
  readonly item: VirtualItem;
  readonly list: RowVirtualizer;
  /** Index of the chosen row, and of the one that the Tab key goes to. */
  readonly chosen: number;
  readonly entrance: number;
  readonly choose: (index: number) => void;
  readonly onEnter: (index: number) => void;
}

function RowItem(props: RowItemProps) {
  const { item, list, chosen, entrance, choose, onEnter, moment } = props;
  const { index, start } = item;
  const { rows } = moment;
  return (
    <li
      ref={list.measureElement}
      class="row"
      data-index={index}
      aria-setsize={rows.length}
      aria-posinset={index + 1}
      aria-current={index === chosen ? "true" : undefined}
      tabIndex={index === entrance ? 0 : -1}
      style={{ transform: `translateY(${start}px)` }}
      onFocus={(event) => event.target === event.currentTarget && onEnter(index)}
      onClick={(event) => isPlainClick(event) && choose(index)}
    >
      <ConversationRow {...props} row={rows[index]!} />
    </li>
  );
}

function rowOf({ rows, rowAt }: ShownMoment, { position, place }: Selection): number {
  if (position !== undefined) {
    return rowAt.get(position) ?? -1;
  }
  return place === undefined ? -1 : rows.findIndex((row) => row.kind === "head" && row.place === place);
}

function selectionOf(row: Row | undefined): Selection {
  if (row?.kind === "message" || row?.kind === "step") {
    return { position: row.position };
  }
  return row?.kind === "head" ? { place: row.place } : {};
}

/** A guess from the record's length, until the row was drawn and measured. */
function estimate({ outline, base }: ShownMoment, row: Row | undefined): number {
  if (row?.kind !== "message") {
    return row?.kind === "step" ? 84 : 64;
  }
  const { size = 200 } = outline[row.position - base] ?? {};
  return 74 + 20 * Math.min(8, Math.ceil(size / 100)) + (row.round === undefined ? 0 : 34);
}

function fetchVisible(model: SessionModel, rows: readonly (Row | undefined)[]): void {
  const positions = rows.flatMap((row) => {
    return row?.kind === "message" ? [row.position] : row?.kind === "step" ? [row.position, ...row.results] : [];
  });
  positions.forEach((position) => model.need(position, position + 1));
}

/** A click that chose no control and marked no text. */
function isPlainClick({ target }: MouseEvent): boolean {
  const isControl = (target as Element).closest("button, a, input, summary, textarea, select") !== null;
  return !isControl && getSelection()?.isCollapsed !== false;
}

interface Movement {
  readonly index: number;
  readonly count: number;
  readonly choose: (index: number) => void;
  readonly scroller: { readonly current: HTMLDivElement | null };
}

/** The arrow keys, Home and End go from row to row; the row that has the focus is the chosen one. */
function moveFocus(event: KeyboardEvent, { index, count, choose, scroller }: Movement): void {
  const isRow = (event.target as Element).matches(".row, .scroller");
  const current = index < 0 ? count - 1 : index;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    Home: 0,
    End: count - 1,
    Enter: current,
  };
  const next = isRow ? targets[event.key] : undefined;
  if (next === undefined || next < 0 || next >= count) {
    return;
  }
  event.preventDefault();
  choose(next);
  focusRow(scroller, next, 20);
}

/** The row may have to be drawn first. */
function focusRow(scroller: Movement["scroller"], index: number, tries: number): void {
  const row = scroller.current?.querySelector<HTMLElement>(`.row[data-index="${index}"]`);
  if (row) {
    row.focus({ preventScroll: true });
  } else if (tries > 0) {
    requestAnimationFrame(() => focusRow(scroller, index, tries - 1));
  }
}
