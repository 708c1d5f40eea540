import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type Range,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** The items of the list. */
export interface VirtualRows {
  readonly count: number;
  readonly keyOf: (index: number) => string;
  readonly sizeOf: (index: number) => number;
  /** A row that stays in the document though it is out of sight, such as the one with the focus. */
  readonly pinned: number;
}

/** A list of rows of which some are drawn. */
export type RowVirtualizer = Virtualizer<HTMLDivElement, HTMLLIElement>;

/** A list of which only what is in sight is in the document. It stays at its end where that is in sight. */
export function useVirtualRows(
  scroller: RefObject<HTMLDivElement | null>,
  { count, keyOf, sizeOf, pinned }: VirtualRows,
): RowVirtualizer {
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    getItemKey: keyOf,
    estimateSize: sizeOf,
    overscan: 4,
    anchorTo: "end" as const,
    followOnAppend: true,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    rangeExtractor: (range: Range) => withPinned(defaultRangeExtractor(range), pinned, range.count),
    onChange: () => draw(undefined),
  };
  const virtualizer = useRef<RowVirtualizer | undefined>(undefined);
  virtualizer.current ??= new Virtualizer<HTMLDivElement, HTMLLIElement>(options);
  const rows = virtualizer.current;
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), [rows]);
  useLayoutEffect(() => rows._willUpdate());
  return rows;
}

function withPinned(indexes: number[], pinned: number, count: number): number[] {
  if (pinned < 0 || pinned >= count || indexes.includes(pinned)) {
    return indexes;
  }
  return [...indexes, pinned].sort((a, b) => a - b);
}
