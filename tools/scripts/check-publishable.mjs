// Runs before `npm publish`: refuses a package whose addresses nobody has set.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A domain that nobody can own; package.json holds it where an address is still to be set. */
export const placeholder = "set-before-publishing.invalid";

const fields = ["repository", "homepage", "bugs", "author", "funding"];

/** The fields of a package.json that lack a value of their own. */
export function unsetFields(manifest) {
  return fields.filter((name) => {
    const value = JSON.stringify(manifest[name] ?? "");
    return value === '""' || value.includes(placeholder);
  });
}

/** A sentence that says what is to be set; undefined where nothing is. */
export function refusal(manifest) {
  const unset = unsetFields(manifest);
  return unset.length === 0
    ? undefined
    : `Not published: set ${unset.join(", ")} in package.json, which still hold the placeholder ${placeholder}.`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sentence = refusal(JSON.parse(readFileSync("package.json", "utf8")));
  if (sentence !== undefined) {
    console.error(sentence);
    process.exitCode = 1;
  }
}
