import { fencedBlocks } from "../support/code-blocks.js";
import { readDocument } from "../support/markdown.js";

/** The two files of the guide docs/chat-page.md, by the path at which it wants each. */
export function filesOfGuide(root: string): Readonly<Record<"app/api/chats/route.ts" | "app/page.tsx", string>> {
  const blocks = fencedBlocks("docs/chat-page.md", readDocument(root, "docs/chat-page.md"));
  const only = (language: string) => {
    const [block, ...others] = blocks.filter((block) => block.language === language);
    if (block === undefined || others.length > 0) {
      throw new Error(`docs/chat-page.md has ${others.length + (block ? 1 : 0)} blocks of ${language}, not one.`);
    }
    return block.code;
  };
  return { "app/api/chats/route.ts": only("ts"), "app/page.tsx": only("tsx") };
}

/** The packages that the guide installs. */
export function packagesOfGuide(root: string): string[] {
  const [, names] = /^npm install (.+)$/m.exec(readDocument(root, "docs/chat-page.md"))!;
  return names!.split(" ");
}

/** The code of docs/resumable-runs.md, by what each block is for. */
export function blocksOfRuns(root: string): Readonly<Record<"route" | "page" | "steering" | "adapter", string>> {
  const blocks = fencedBlocks("docs/resumable-runs.md", readDocument(root, "docs/resumable-runs.md"));
  const holding = (text: string) => blocks.find(({ code }) => code.includes(text))!.code;
  return {
    route: holding("export async function DELETE"),
    page: holding("export function follow"),
    steering: holding("export async function say"),
    adapter: holding("export function uiMessageStream"),
  };
}
