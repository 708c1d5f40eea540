import { writeFileSync } from "node:fs";
import { compile, type Config } from "vega-lite";
import { parse, View } from "vega";
import { time } from "./format.js";
import type { Chart, Picture, Section } from "./section.js";

/** Colours that differ in light and dark, and for those who cannot tell red from green. */
const themes = {
  light: {
    ...{ paper: "#ffffff", ink: "#1f2328", faint: "#d1d9e0" },
    series: ["#0969da", "#d1570b", "#8250df", "#57606a", "#1a7f37", "#bf3989"],
  },
  dark: {
    ...{ paper: "#0d1117", ink: "#e6edf3", faint: "#30363d" },
    series: ["#58a6ff", "#ffa657", "#bc8cff", "#8b949e", "#3fb950", "#f778ba"],
  },
} as const;

/** The endings of a picture's two files. */
const endings = { light: ".svg", dark: "-dark.svg" } as const;

/** All pictures of a section, its charts among them. */
export function picturesOf({ charts = [], pictures = [] }: Section): readonly Picture[] {
  return [...charts.map(chartPicture), ...pictures];
}

/** Writes each picture for light and for dark pages. */
export async function writePictures(folder: string, pictures: readonly Picture[]): Promise<void> {
  for (const picture of pictures) {
    for (const theme of ["light", "dark"] as const) {
      writeFileSync(`${folder}/${picture.file}${endings[theme]}`, await svgOf(picture, theme));
    }
  }
}

/** A picture in a Markdown page that shows the file for the reader's colours; `path` leads to the folder. */
export function pictureText({ file, alt }: Picture, path = ""): string {
  return (
    `<picture><source media="(prefers-color-scheme: dark)" srcset="${path}${file}${endings.dark}">` +
    `<img alt="${alt.replaceAll('"', "&quot;")}" src="${path}${file}${endings.light}" width="600"></picture>`
  );
}

async function svgOf({ spec }: Picture, theme: keyof typeof themes): Promise<string> {
  const compiled = compile(spec, { config: configOf(theme) }).spec;
  return `${await new View(parse(compiled), { renderer: "none" }).toSVG()}\n`;
}

function configOf(theme: keyof typeof themes): Config {
  const { paper, ink, faint, series } = themes[theme];
  return {
    background: paper,
    padding: { left: 12, top: 12, right: 24, bottom: 12 },
    font: "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif",
    title: { color: ink, fontSize: 15, fontWeight: 600, anchor: "start", frame: "group", offset: 10 },
    axis: {
      ...{ labelColor: ink, labelFontSize: 12, titleColor: ink, titleFontSize: 13, titleFontWeight: "normal" },
      ...{ domainColor: faint, tickColor: faint, gridColor: faint, titlePadding: 8 },
    },
    legend: { labelColor: ink, labelFontSize: 13, labelLimit: 560, titleColor: ink, titleFontSize: 13 },
    view: { stroke: null },
    text: { color: ink, fontSize: 12 },
    range: { category: [...series] },
  };
}

/** Lines over two logarithmic axes. */
function chartPicture({ title, xLabel, lines }: Chart): Picture {
  const values = lines.flatMap(({ name, points }) => points.map(([x, y]) => ({ name, x, y, label: time(y) })));
  const names = lines.map(({ name }) => name);
  const ticks = [...new Set(values.map(({ x }) => x))];
  return {
    file: title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"),
    alt: `${title}: time by ${xLabel}, of ${names.join(", ")}.`,
    spec: {
      title,
      width: 600,
      height: 380,
      autosize: { type: "fit", contains: "padding" },
      data: { values },
      mark: { type: "line", point: { size: 40 }, strokeWidth: 2 },
      encoding: {
        x: {
          ...{ field: "x", type: "quantitative", title: xLabel, scale: { type: "log", nice: false } },
          axis: { values: ticks, format: ",", grid: false, labelOverlap: true },
        },
        y: {
          ...{ field: "y", type: "quantitative", title: null, scale: { type: "log" } },
          axis: { values: powersAround(values.map(({ y }) => y)), labelExpr: timeLabel },
        },
        color: {
          ...{ field: "name", type: "nominal", sort: names },
          legend: { title: null, orient: "bottom", columns: legendColumns(names) },
        },
      },
    },
  };
}

/** Two names in a line where they fit: without a canvas Vega takes a character for 0.8 of its size. */
function legendColumns(names: readonly string[]): number {
  return Math.max(...names.map((name) => name.length)) > 24 ? 1 : 2;
}

/** Milliseconds as one reads them, in Vega's language. */
const timeLabel =
  "datum.value >= 1000 ? datum.value / 1000 + ' s' : datum.value >= 1 ? datum.value + ' ms' : " +
  "round(datum.value * 1000) + ' µs'";

function powersAround(values: readonly number[]): number[] {
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  return Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
}
