// Finds links of the built site that lead nowhere: to files or headings that do not exist, or out of the site. Asks its
// search what readers ask.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { searches } from "./site-guides.mjs";

// The copy with which TypeDoc makes the index.
const lunr = createRequire(import.meta.resolve("typedoc"))("lunr");

const site = fileURLToPath(new URL("../../.cache/site", import.meta.url));
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

const lost = Object.entries(searches).filter(([words, guide]) => firstFound(words) !== titleOf(guide));
lost.forEach(([words, guide]) => console.error(`"${words}" finds "${firstFound(words)}" before ${guide}`));
console.log(`${Object.keys(searches).length} searches, ${lost.length} that find another page first`);
process.exitCode = broken.length === 0 && lost.length === 0 ? 0 : 1;

/** The title of the page that the site shows first; ranked as its script (`assets/main.js`) does. */
function firstFound(words) {
  const script = readFileSync(join(site, "assets", "search.js"), "utf8");
  const { rows, index } = JSON.parse(inflateSync(Buffer.from(/"(.*)"/.exec(script)[1], "base64")).toString());
  const terms = words.split(" ").map((word) => `*${word}*`);
  const found = lunr.Index.load(index).search(terms.join(" "));
  const ranked = found.map(({ ref, score }) => {
    const { name } = rows[Number(ref)];
    const isBegun = name.toLowerCase().startsWith(words.toLowerCase());
    return { name, score: isBegun ? (score * 10) / (1 + Math.abs(name.length - words.length)) : score };
  });
  return ranked.sort((a, b) => b.score - a.score)[0]?.name;
}

function titleOf(guide) {
  return /^# (.+)$/m.exec(readFileSync(new URL(`../../${guide}`, import.meta.url), "utf8"))[1];
}

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
