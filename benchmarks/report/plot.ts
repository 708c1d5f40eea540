import { time } from "./format.js";
import type { Chart } from "./section.js";

const panel = { width: 460, height: 300, left: 62, right: 16, top: 34, bottom: 44 };
const columns = 2;
const legendLine = 15;
const colors = ["#1f6feb", "#d1495b", "#edae49", "#8d99ae", "#2a9d8f", "#6a4c93"];

/** Charts as one SVG, both axes logarithmic. */
export function plot(charts: readonly Chart[]): string {
  const rows = Math.ceil(charts.length / columns);
  const legend = Math.max(...charts.map(({ lines }) => lines.length)) * legendLine;
  const [width, height] = [columns * panel.width, rows * (panel.height + legend)];
  const panels = charts.map((chart, index) => {
    const [x, y] = [(index % columns) * panel.width, Math.floor(index / columns) * (panel.height + legend)];
    return `<g transform="translate(${x} ${y})">${drawChart(chart)}</g>`;
  });
  const style =
    "<style>text{font:11px system-ui,sans-serif;fill:#444}.title{font-size:13px;font-weight:600;fill:#111}</style>";
  const background = `<rect width="${width}" height="${height}" fill="#fff"/>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">` +
    `${style}${background}${panels.join("")}</svg>\n`
  );
}

function drawChart({ title, xLabel, lines }: Chart): string {
  const points = lines.flatMap((line) => line.points);
  const x = scale(
    points.map(([value]) => value),
    { from: panel.left, to: panel.width - panel.right },
  );
  const y = scale(
    points.map(([, value]) => value),
    { from: panel.height - panel.bottom, to: panel.top },
  );
  const parts = [
    `<text class="title" x="${panel.left}" y="20">${escape(title)}</text>`,
    `<text x="${(panel.left + panel.width - panel.right) / 2}" y="${panel.height - 8}" ` +
      `text-anchor="middle">${escape(xLabel)}</text>`,
    ...x.ticks.map((value) => gridLine({ at: x.at(value), label: value.toLocaleString("en-US"), vertical: true })),
    ...y.ticks.map((value) =>
      gridLine({ at: y.at(value), label: time(value).replace(/\.0+(?= )/, ""), vertical: false }),
    ),
    ...lines.map((line, index) => drawLine(line, { index, x: x.at, y: y.at })),
  ];
  return parts.join("");
}

interface Place {
  readonly index: number;
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

function drawLine({ name, points }: Chart["lines"][number], { index, x, y }: Place): string {
  const color = colors[index % colors.length]!;
  const path = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`);
  const dots = path.map(
    (point) => `<circle cx="${point.split(",")[0]}" cy="${point.split(",")[1]}" r="3" fill="${color}"/>`,
  );
  const legendY = panel.height + index * legendLine;
  return (
    `<polyline points="${path.join(" ")}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join("")}` +
    `<rect x="${panel.left}" y="${legendY - 9}" width="10" height="10" fill="${color}"/>` +
    `<text x="${panel.left + 16}" y="${legendY}">${escape(name)}</text>`
  );
}

function gridLine({ at, label, vertical }: { at: number; label: string; vertical: boolean }): string {
  const [bottom, right] = [panel.height - panel.bottom, panel.width - panel.right];
  return vertical
    ? `<line x1="${at}" x2="${at}" y1="${panel.top}" y2="${bottom}" stroke="#eee"/>` +
        `<text x="${at}" y="${bottom + 15}" text-anchor="middle">${label}</text>`
    : `<line x1="${panel.left}" x2="${right}" y1="${at}" y2="${at}" stroke="#eee"/>` +
        `<text x="${panel.left - 6}" y="${at + 4}" text-anchor="end">${escape(label)}</text>`;
}

function scale(values: readonly number[], { from, to }: { from: number; to: number }) {
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const span = Math.max(1, high - low);
  const at = (value: number) => from + ((Math.log10(value) - low) / span) * (to - from);
  return { at, ticks: Array.from({ length: span + 1 }, (_, index) => 10 ** (low + index)) };
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
