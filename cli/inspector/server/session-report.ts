import { metaOf } from "../../../src/store/codec/decode-record.js";
import { counted, missingWords, secondOf, sizeOf, storedWords, whole } from "../model/figures-in-words.js";
import type { Findings, OutlineEntry, SessionReport, SessionState } from "../model/data.js";
import { readLog } from "./log-reader.js";
import { readableText } from "./readable-text.js";
import { findingsOf } from "./session-findings.js";
import { readSnapshot, type SnapshotSource } from "./session-snapshot.js";

/** Messages that have a line: the newest. */
const mostMessages = 1_000;
const longestId = 80;

/**
 * A session for a bug ticket: ids, roles, sizes, times, turns, reductions, damage, findings and repairs. Nothing that
 * somebody said or an application stored beside it: no text, title, owner, name, metadata or argument.
 *
 * @throws NotFoundError; EncryptionError.
 */
export async function reportOf(source: SnapshotSource, sessionId: string): Promise<SessionReport> {
  const state = await readSnapshot(source, sessionId);
  const outline = await outlineOf(source, sessionId);
  const findings = await findingsOf(source.server, sessionId, "langchain");
  const from = Math.max(state.base, state.next - mostMessages);
  const lines = [
    "Report of a session of langchain-redis-memory",
    "Without what was said: no texts, titles, owners, names, metadata or arguments.",
    "",
    ...factsOf(state, source),
    "",
    ...reductionLines(state),
    ...findingLines(findings),
    from > state.base ? `Messages, the newest ${whole(mostMessages)}` : "Messages",
    ...table([
      ["position", "role", "bytes", "tokens", "view", "calls", "answers", "written (UTC)", "turn", "id"],
      ...(await messageRows(source, { state, outline, from })),
    ]),
  ];
  return { text: `${lines.map((line) => line.trimEnd()).join("\n")}\n` };
}

async function outlineOf({ outlines }: SnapshotSource, sessionId: string): Promise<ReadonlyMap<number, OutlineEntry>> {
  const all = new Map<number, OutlineEntry>();
  for (let from = 0, next = 1; from < next;) {
    const page = await outlines.page(sessionId, from);
    page.entries.forEach((entry, index) => all.set(page.from + index, entry));
    from = page.from + Math.max(1, page.entries.length);
    next = page.entries.length === 0 ? 0 : page.next;
  }
  return all;
}

function factsOf(state: SessionState, { server }: SnapshotSource): string[] {
  const { sessionId, base, start, next, head, summaries, reductionCount, damage } = state;
  const time = (at: number | undefined) => (at === undefined ? "not known" : `${secondOf(at)} (UTC)`);
  return table([
    ["session", short(sessionId)],
    ["reported", time(Date.now())],
    ["created", time(state.createdAt)],
    ["written", time(state.updatedAt)],
    ["expires", state.expiresAt === undefined ? "never" : time(state.expiresAt)],
    ["messages", `${storedWords(state)}${next > base ? `, from ${base} to ${next - 1}` : ""}`],
    ...(base > 0 ? ([["missing", missingWords(state)]] as const) : []),
    [
      "view",
      `${counted(head.length, "message")} in front (of which summaries: ${whole(summaries.length)}), ` +
        `then from message ${start}`,
    ],
    ["reductions", whole(reductionCount)],
    ["damage", damage ?? "none"],
    ["key prefix", short(server.keyPrefix)],
    ["Node.js", process.version],
  ]);
}

function reductionLines({ reductions, reductionCount }: SessionState): string[] {
  const first = reductionCount - reductions.length + 1;
  const rows = reductions.map(({ at, start, head, before, after }, index) => {
    return [`${first + index}`, secondOf(at), `${start}`, `${head}`, sizeOf(before), sizeOf(after)];
  });
  const names = ["number", "made (UTC)", "view from", "in front", "before", "after"];
  return rows.length === 0 ? [] : ["Reductions", ...table([names, ...rows]), ""];
}

/** Their own words may name a tool or quote an id of the provider; the rules' sentences do not. */
function findingLines({ findings, repairs, hidden }: Findings): string[] {
  const placeOf = ({ position, place }: { readonly position?: number; readonly place?: number }) =>
    position === undefined ? (place === undefined ? "-" : `front ${place}`) : `${position}`;
  const rows = [
    ...findings.map((row) => [row.rule, row.severity, placeOf(row), row.sentence]),
    ...repairs.map((row) => [row.rule, "repair", placeOf(row), row.action]),
    ...hidden.map((position) => ["-", "hidden", `${position}`, "A tool result without its call in the view."]),
  ];
  return rows.length === 0
    ? ["Findings and repairs: none", ""]
    : ["Findings and repairs", ...table([["rule", "kind", "message", "what"], ...rows]), ""];
}

interface Rows {
  readonly state: SessionState;
  readonly outline: ReadonlyMap<number, OutlineEntry>;
  readonly from: number;
}

async function messageRows({ server }: SnapshotSource, { state, outline, from }: Rows): Promise<string[][]> {
  const rows: string[][] = [];
  const fronts = new Set(state.head.map(({ position }) => position));
  for await (const { items } of readLog(server, state.sessionId, { from, to: state.next })) {
    for (const { position, record, message } of items) {
      const { role = "unreadable", tokens = 0, size = record.length, calls = [], caller } = outline.get(position) ?? {};
      const { at, turn } = metaOf(record);
      const seen = position >= state.start ? "yes" : fronts.has(position) ? "front" : "no";
      const figures = [`${position}`, role, `${size}`, `${tokens}`, seen, calls.length === 0 ? "-" : `${calls.length}`];
      const when = at === undefined ? "-" : secondOf(at);
      rows.push([
        ...figures,
        caller === undefined ? "-" : `${caller}`,
        when,
        short(turn ?? "-"),
        short(message?.id ?? "-"),
      ]);
    }
  }
  return rows;
}

/** Columns of one width each, two spaces apart. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]!.length), 0));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  "));
}

function short(id: string): string {
  return readableText(id).slice(0, longestId);
}
