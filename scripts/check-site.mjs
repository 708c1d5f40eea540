// Finds links of the built site that lead nowhere: to files or headings that do not exist, or out of the site.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const site = fileURLToPath(new URL("../.cache/site", import.meta.url));
const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html"));
const texts = new Map(pages.map((name) => [join(site, name), readFileSync(join(site, name), "utf8")]));
const anchors = new Map(
  [...texts].map(([path, text]) => [path, new Set([...text.matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id]) => id))]),
);

const broken = [...texts].flatMap(([path, text]) =>
  [...new Set([...text.matchAll(/\s(?:href|src)="([^"]+)"/g)].map(([, target]) => target.replaceAll("&amp;", "&")))]
    .map((target) => ({ target, reason: reasonAgainst(path, target) }))
    .filter(({ reason }) => reason !== undefined)
    .map(({ target, reason }) => `${relative(site, path)}: ${target} ${reason}`),
);
broken.forEach((line) => console.error(line));
console.log(`${pages.length} pages, ${broken.length} links that lead nowhere`);
process.exitCode = broken.length === 0 ? 0 : 1;

function reasonAgainst(from, target) {
  if (/^(data:|javascript:)/.test(target)) {
    return undefined;
  }
  if (/^[a-z]+:/i.test(target)) {
    return isKnown(target) ? undefined : "is not one of the sites that this project names";
  }
  const [name, anchor] = target.split("#");
  const file = name === "" ? from : resolve(dirname(from), decodeURIComponent(name));
  if (!existsSync(file)) {
    return "does not exist";
  }
  const known = anchors.get(file);
  return anchor && known && !known.has(decodeURIComponent(anchor)) ? "has no such heading" : undefined;
}

/** Links that TypeDoc makes for types of others, and that documents name. */
function isKnown(target) {
  return /^https:\/\/(www\.typescriptlang\.org|developer\.mozilla\.org|nodejs\.org|typedoc\.org)\//.test(target);
}
