import type { PlayedConversation } from "./play.js";

const columns = [
  ["conversation", 24],
  ["turns", 5],
  ["calls", 5],
  ["transcript", 12],
  ["view", 12],
  ["reductions", 10],
  ["trips/turn", 10],
  ["valid", 5],
] as const;

/** One line per conversation and one in total; 97 columns. Sizes are messages and rounds. */
export function printTable(played: readonly PlayedConversation[]): void {
  console.log(row(columns.map(([title]) => title)));
  console.log(columns.map(([, width]) => "-".repeat(width)).join("  "));
  played.forEach((conversation) => console.log(row(cells(conversation.sessionId, [conversation]))));
  console.log(columns.map(([, width]) => "-".repeat(width)).join("  "));
  console.log(row(cells(`total of ${played.length}`, played)));
}

function cells(title: string, played: readonly PlayedConversation[]): string[] {
  const sum = (value: (conversation: PlayedConversation) => number) =>
    played.reduce((total, conversation) => total + value(conversation), 0);
  const turns = sum((conversation) => conversation.turns);
  return [
    title,
    String(turns),
    String(sum(({ modelCalls }) => modelCalls)),
    `${sum(({ transcript }) => transcript.messages)} in ${sum(({ transcript }) => transcript.rounds)}`,
    `${sum(({ view }) => view.messages)} in ${sum(({ view }) => view.rounds)}`,
    String(sum(({ reductions }) => reductions)),
    (sum(({ roundTrips }) => roundTrips) / turns).toFixed(2),
    played.every(({ problems }) => problems.length === 0) ? "yes" : "NO",
  ];
}

function row(values: readonly string[]): string {
  return values.map((value, index) => fit(value, columns[index]![1], index === 0)).join("  ");
}

function fit(value: string, width: number, left: boolean): string {
  const short = value.length > width ? `${value.slice(0, width - 1)}…` : value;
  return left ? short.padEnd(width) : short.padStart(width);
}
