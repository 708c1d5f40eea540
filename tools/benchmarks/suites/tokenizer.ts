import { getEncoding } from "js-tiktoken";
import { tiktokenCounter } from "langchain-redis-memory";
import { interleave, type Runner } from "../measure/interleave.js";
import { chartOf } from "../report/charts.js";
import { comparisonTable, whole } from "../report/format.js";
import type { Case, Section, Setting } from "../report/section.js";
import { sentence } from "../setting/messages.js";

const theirs = "js-tiktoken";
const ours = "tiktokenCounter()";
/**
 * js-tiktoken's time is quadratic in the length of a stretch without spaces: beyond so many characters it is left out.
 */
const oddLimit = 4_000;

const texts: readonly { readonly name: string; readonly limit: number; readonly text: (length: number) => string }[] = [
  { name: "English", limit: Infinity, text: (length) => fill(sentence(3, 400), length) },
  {
    name: "JSON",
    limit: Infinity,
    text: (length) => fill(JSON.stringify({ id: 48_213, price: 129.5, stops: ["Lund", "Malmö"], open: true }), length),
  },
  { name: "Chinese", limit: oddLimit, text: (length) => fill("今天的会议改到下午三点,请大家提前准备好材料。", length) },
  { name: "one letter, again and again", limit: oddLimit, text: (length) => "a".repeat(length) },
  { name: "one word without spaces", limit: oddLimit, text: (length) => fill("antidisestablishmentarianism", length) },
  { name: "base64", limit: oddLimit, text: (length) => pseudoRandom(length) },
];

/** Time of counting tokens of a text that was not seen before. */
export async function tokenizerSuite({ quick }: Setting): Promise<Section> {
  const counter = tiktokenCounter();
  await counter.ready();
  const encoding = getEncoding("o200k_base");
  const lengths = quick ? [250, 1_000] : [1_000, 4_000, 1_000_000];
  const cases: Case[] = [];
  for (const length of lengths) {
    for (const { name, limit, text } of texts) {
      const sample = text(length);
      const both = length <= limit;
      if (length <= oddLimit && (await counter.countText(sample)) !== encoding.encode(sample, [], []).length) {
        throw new Error(`The two do not agree on ${name}.`);
      }
      const runners: Runner<never>[] = [
        { name: ours, prepare: () => undefined as never, run: () => counter.countText(sample) },
        ...(both
          ? [{ name: theirs, prepare: () => undefined as never, run: () => encoding.encode(sample, [], []) }]
          : []),
      ];
      cases.push({
        name: `${name}, ${whole(length)}`,
        measured: await interleave(runners, {
          rounds: roundsFor({ quick, length, slow: both && limit === oddLimit }),
          warmup: 1,
        }),
      });
    }
  }
  const longest = texts.map((_, index) => cases.filter((__, place) => place % texts.length === index));
  return {
    title: "Counting tokens",
    about:
      "Texts of so many characters, o200k_base, loaded before; both agree on every count. On text without " +
      `spaces js-tiktoken takes quadratic time and is not asked beyond ${whole(oddLimit)} characters.`,
    tables: [comparisonTable("One text, by kind and length", cases)],
    charts: [chartOf("Counting one letter, again and again", "characters", { cases: longest[3]!, xs: lengths })],
  };
}

function roundsFor({ quick, length, slow }: { quick: boolean; length: number; slow: boolean }): number {
  if (quick) {
    return 2;
  }
  return length > oddLimit ? 6 : slow && length === oddLimit ? 4 : 40;
}

function fill(text: string, length: number): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}

function pseudoRandom(length: number): string {
  let state = 42;
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4));
  for (let index = 0; index < bytes.length; index += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    bytes[index] = state >> 16;
  }
  return bytes.toString("base64").replace(/[+/=]/g, "x").slice(0, length);
}
