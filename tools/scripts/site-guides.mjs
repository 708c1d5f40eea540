// The guides by heading, in the order of the list in README: the menu of the site, and what its search shows first.
import { readdirSync, readFileSync } from "node:fs";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, list] = /^## Guides\n([^]*?)^## /m.exec(readme);

/** Each heading with the paths of its guides. */
export const guides = new Map(
  list
    .split(/^- (?=\*\*)/m)
    .slice(1)
    .map((item) => [
      /^\*\*(.+?)\*\*/.exec(item)[1],
      [...item.matchAll(/\((docs\/[\w-]+\.md)\)/g)].map(([, path]) => path),
    ]),
);

const listed = [...guides.values()].flat();
const missing = readdirSync(new URL("../../docs", import.meta.url))
  .map((name) => `docs/${name}`)
  .filter((path) => path.endsWith(".md") && !listed.includes(path));
if (missing.length > 0) {
  throw new Error(`README lists no guide ${missing.join(", ")}: add it under "## Guides", for the menu of the site.`);
}

/** What readers type into the search of the site, and the guide that it shows first. */
export const searches = {
  encrypt: "docs/encryption.md",
  "cut by tokens": "docs/reducers.md",
  "delete a user's data": "docs/sessions.md",
  GDPR: "docs/sessions.md",
  "list conversations": "docs/sessions.md",
  "stop button": "docs/chat-page.md",
  "prompt caching": "docs/reducers.md",
  "Next.js": "docs/chat-page.md",
  retry: "docs/chains.md",
  SSE: "docs/agent-api.md",
  TTL: "docs/options.md",
  expire: "docs/options.md",
};

/** The searches that lead to a guide. */
export function searchesFor(path) {
  return Object.keys(searches).filter((words) => searches[words] === path);
}

/** The heading of a page that README does not list. */
const others = [
  [/^docs\/decisions\//, "Decisions"],
  [/^docs\/development\//, "Development"],
  [/^tools\/benchmarks\/results\//, "Measurements"],
];

/** The heading under which a document stands in the menu. */
export function headingOf(path) {
  const [heading] = [...guides].find(([, paths]) => paths.includes(path)) ?? [];
  return heading ?? others.find(([pattern]) => pattern.test(path))?.[1] ?? "Project";
}

/** All headings, in their order; that of the modules is between guides and the rest. */
export const headings = [...guides.keys(), "Reference", ...others.map(([, heading]) => heading), "Project"];
