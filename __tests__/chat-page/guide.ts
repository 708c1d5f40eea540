import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fencedBlocks } from "../support/code-blocks.js";
import { readDocument } from "../support/markdown.js";

const files = ["app/api/chats/route.ts", "app/page.tsx"] as const;

/** The two files that the guide docs/chat-page.md shows, by the path at which it wants each. */
export function filesOfGuide(root: string): Readonly<Record<(typeof files)[number], string>> {
  const place = join(root, "examples/apps/nextjs-chat");
  const [route, page] = files.map((path) => readFileSync(join(place, path), "utf8"));
  return { [files[0]]: route!, [files[1]]: page! };
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
    route: holding("export const DELETE"),
    page: holding("export function follow"),
    steering: holding("export async function say"),
    adapter: holding("export function uiMessageStream"),
  };
}
