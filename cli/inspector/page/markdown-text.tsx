import { createContext, h, type ComponentChild } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { markdownOf, type MarkdownNode } from "../model/markdown.js";
import type { AddressForm } from "./address.js";

/** True where texts stand as they are stored, without a layout. */
export const RawTexts = createContext(false);

/** The same in the address. */
export const rawForm: AddressForm<boolean> = {
  name: "text",
  read: (text) => text === "raw",
  write: (isRaw) => (isRaw ? "raw" : undefined),
};

interface MarkdownTextProps {
  readonly text: string;
  /** True where more follows that is not shown. */
  readonly isCut: boolean;
}

/** A text of a message, laid out as Markdown unless the reader wants it as it is stored. */
export function MarkdownText({ text, isCut }: MarkdownTextProps) {
  const isRaw = useContext(RawTexts);
  const nodes = useMemo(() => (isRaw ? undefined : markdownOf(text)), [text, isRaw]);
  return nodes === undefined ? (
    <p class="text" dir="auto">
      {text}
      {isCut && "…"}
    </p>
  ) : (
    <div class="text markdown" dir="auto">
      {nodes.map(drawn)}
      {isCut && <p>…</p>}
    </div>
  );
}

function drawn(node: MarkdownNode): ComponentChild {
  return typeof node === "string" ? node : h(node.tag, node.attributes, ...node.inside.map(drawn));
}
