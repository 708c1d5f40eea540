// Runs before `npm publish`: asks for the fields of package.json that only the one who publishes can set.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const fields = ["repository", "homepage", "bugs", "author", "funding"];

/** A sentence that says what is to be set; undefined where nothing is. */
export function refusal(manifest) {
  const unset = fields.filter((name) => (manifest[name] ?? "") === "");
  return unset.length === 0 ? undefined : `Not published: set ${unset.join(", ")} in package.json first.`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sentence = refusal(JSON.parse(readFileSync("package.json", "utf8")));
  if (sentence !== undefined) {
    console.error(sentence);
    process.exitCode = 1;
  }
}
