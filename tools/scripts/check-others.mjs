// Sends the answers of every source through chat models of LangChain's that have no adapter here, at their newest
// versions, and prints what their requests lack. Installs them in a temporary folder.
//
// Usage: npm run check:wire:others -- [--folder <folder that keeps them>]
import { parseArgs } from "node:util";
import { install, linesOf, withFolder } from "./adapter-folder.mjs";
import { lowestAdapters } from "./peer-sets.mjs";

const { values } = parseArgs({ options: { folder: { type: "string" } } });
const others = ["google-vertexai", "groq", "xai", "ollama", "openrouter", "cohere", "cloudflare", "cerebras"];
const names = [...Object.keys(lowestAdapters), ...others.map((name) => `@langchain/${name}`)];
const found = await withFolder(values.folder, async (folder) => {
  await install(folder, {
    packages: names.map((name) => `${name}@latest`),
    program: "tools/testkit/wire-others/main.ts",
  });
  return linesOf(folder)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
});
for (const { className, profile, wrong } of found) {
  console.log(`${className}: ${profile}, ${wrong.length === 0 ? "nothing is wrong" : wrong.join("; ")}`);
}
process.exitCode = found.length === others.length && found.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
