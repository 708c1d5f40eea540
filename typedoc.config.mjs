// Settings of TypeDoc: the reference of all entries, and the guides in the order in which they are read.
import { readFileSync } from "node:fs";
import { guides, headings } from "./tools/scripts/site-guides.mjs";

const rules = readFileSync(new URL("src/conversation/structure/rules/rules.ts", import.meta.url), "utf8");
const ruleIds = [...rules.matchAll(/^ {2}(S\d\d):/gm)].map(([, id]) => id);
const innerTypes = JSON.parse(readFileSync(new URL("tools/etc/inner-types.json", import.meta.url), "utf8"));

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "langchain-redis-memory",
  entryPoints: [
    "src/entries/index.ts",
    "src/entries/agent.ts",
    "src/entries/openai.ts",
    "src/entries/tool-loop.ts",
    "src/entries/sessions.ts",
    "src/entries/structure.ts",
    "testing/index.ts",
    "src/entries/checkpoint.ts",
    "src/entries/runs.ts",
    "src/entries/otel.ts",
  ],
  out: ".cache/site",
  tsconfig: "tsconfig.build.json",
  skipErrorChecking: true,
  readme: "README.md",
  disableGit: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  validation: {
    notExported: true,
    invalidLink: true,
    invalidPath: true,
    rewrittenLink: true,
    notDocumented: true,
    unusedMergeModuleWith: true,
  },
  requiredToBeDocumented: [
    "Enum",
    "EnumMember",
    "Variable",
    "Function",
    "Class",
    "Interface",
    "ConstructorSignature",
    "Property",
    "Method",
    "Accessor",
    "TypeAlias",
  ],
  // Each of these is a sentence that says itself what the rule asks.
  intentionallyNotDocumented: ruleIds.map((id) => `structure.structureRules.__type.${id}`),
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  plugin: ["./tools/scripts/site-titles.mjs", "./tools/scripts/site-comments.mjs"],
  sort: ["documents-first", "source-order"],
  searchInDocuments: true,
  // A guide before the symbols that it explains.
  searchGroupBoosts: Object.fromEntries([...guides.keys()].map((heading) => [heading, 40])),
  groupOrder: [...headings, "*"],
  hideGenerator: true,
  navigation: {
    includeGroups: true,
    excludeReferences: true,
  },
  highlightLanguages: [
    "ts",
    "tsx",
    "sh",
    "json",
    "python",
    "lua",
    "console",
    "text",
    "bash",
    "javascript",
    "md",
    "js",
    "typescript",
    "html",
    "css",
  ],
  markdownItOptions: {
    html: true,
    linkify: false,
  },
  intentionallyNotExported: innerTypes.flatMap(({ types, isPart }) => (isPart ? [] : types)),
  excludeExternals: true,
  headings: {
    readme: false,
    document: true,
  },
  customCss: "tools/scripts/site.css",
  projectDocuments: [
    ...[...guides.values()].flat(),
    "docs/decisions/*.md",
    "docs/development/*.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "tools/benchmarks/results/*.md",
  ],
};
