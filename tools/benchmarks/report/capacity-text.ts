import type { ClusterCheck } from "../measure/capacity-check.js";
import { at, sessionBytes, type MeasuredSession, type MemoryModel, type TurnModel } from "../measure/capacity-model.js";
import type { ServerCost } from "../measure/server-cost.js";
import type { Shape } from "../setting/capacity-work.js";
import { digits, whole } from "./format.js";
import { tableText } from "./markdown.js";

/** The same sessions and turns under another option or setting. */
export interface Variant {
  readonly name: string;
  /** Of a session. */
  readonly bytes: number;
  readonly turn: ServerCost;
}

/** All that the page says. */
export interface CapacityFindings {
  readonly measured: readonly MeasuredSession[];
  readonly memory: MemoryModel;
  readonly turn: TurnModel;
  readonly variants: readonly Variant[];
  /** A turn on a master alone, and on one that a replica follows. */
  readonly replica: { readonly without: ServerCost; readonly with: ServerCost };
  readonly check: ClusterCheck;
  /** Bytes of a usual record. */
  readonly record: number;
  readonly usual: Shape;
}

/** A shard that one plans with: what may be used of a node of 16 GB with a link of 1 Gbit/s. */
const shard = { bytes: 10e9, cpu: 0.5e6, network: 60e6 };
/** Turns a day in the mean of all sessions that are kept. */
const activities = [
  { what: "mostly kept for reading", turnsADay: 0.05 },
  { what: "chats", turnsADay: 0.5 },
  { what: "busy chats", turnsADay: 10 },
  { what: "agents at work", turnsADay: 200 },
];
const plans = [1e6, 1e8].flatMap((sessions) => activities.map((activity) => ({ sessions, ...activity })));
const peak = 3;
const secondsOfDay = 86_400;

/** The figures of docs/development/capacity.md. */
export function capacityText(findings: CapacityFindings): string {
  const parts = [sessionText, turnText, planText, variantText, checkText].map((part) => part(findings));
  return parts.join("\n\n").split("\n").map(wrapped).join("\n");
}

function sessionText({ measured, memory }: CapacityFindings): string {
  const rows = measured.map(({ messages, recordBytes, bytes }) => {
    const model = sessionBytes(memory, messages, recordBytes);
    return [
      whole(messages),
      `${whole(recordBytes)} B`,
      `${whole(bytes)} B`,
      `${whole(bytes / messages)} B`,
      `${whole(model)} B (${signed(model / bytes - 1)})`,
    ];
  });
  return [
    "### Memory",
    `A session takes ${whole(memory.perSession)} bytes, and each message ${whole(memory.perMessage)} bytes and ` +
      `${digits(memory.perByte)} times the bytes of its record. Measured and fitted on one node of a cluster, with a ` +
      "time to live:",
    table(["messages", "a record", "a session", "a message", "the model says"], rows),
  ].join("\n\n");
}

function turnText({ turn }: CapacityFindings): string {
  const rows = [10, 20, 50, 100].map((messages) => [
    whole(messages),
    `${whole(at(turn.cpu, messages))} µs`,
    whole(1e6 / at(turn.cpu, messages)),
    `${whole(at(turn.bytesIn, messages))} B`,
    `${whole(at(turn.bytesOut, messages))} B`,
  ]);
  return [
    "### A turn",
    "A turn reads the view and appends two messages, with texts of 400 characters: two round trips. Processor time " +
      "is that of Redis' main thread; it is what one core can give at most, with nothing left.",
    table(["messages in the view", "processor", "turns a second of one core", "bytes in", "bytes out"], rows),
  ].join("\n\n");
}

function planText(findings: CapacityFindings): string {
  const { memory, turn, usual, record } = findings;
  const bytes = sessionBytes(memory, usual.messages, record);
  const [cpu, network] = [at(turn.cpu, usual.messages), at(turn.bytesOut, usual.messages)];
  const rows = plans.map(({ sessions, what, turnsADay }) => {
    const turns = (sessions * turnsADay * peak) / secondsOfDay;
    const needs = {
      memory: (sessions * bytes) / shard.bytes,
      processor: (turns * cpu) / shard.cpu,
      network: (turns * network) / shard.network,
    };
    const [limit, most] = Object.entries(needs).reduce((a, b) => (b[1] > a[1] ? b : a));
    const shards = Math.ceil(most);
    return [
      whole(sessions),
      `${what}, ${turnsADay}`,
      `${whole((sessions * bytes) / 1e9)} GB`,
      `${whole(shards)} (${limit})`,
      whole(turns),
      `${digits((turns * network) / 1e6)} MB`,
      `${digits(turns / shards)} turns, ${digits((turns * network) / shards / 1e6)} MB`,
    ];
  });
  const stored = shard.bytes / bytes;
  const rate = shard.cpu / cpu;
  return [
    "### How many shards",
    `Sessions of ${usual.messages} messages of ${whole(record)} bytes; turns a day in the mean of all sessions ` +
      `that are kept, and ${peak} times the mean at the peak. A shard is planned with ` +
      `${shard.bytes / 1e9} GB of data, half of a core and ${shard.network / 1e6} MB a second.`,
    table(
      [
        "sessions",
        "turns a day",
        "data",
        "shards (limit)",
        "turns a second, peak",
        "out a second",
        "each shard, a second",
      ],
      rows,
    ),
    `Such a shard holds ${whole(stored)} sessions and carries ${whole(rate)} turns a second at its peak. So memory ` +
      `is the limit while a session has fewer than ${digits((rate / stored / peak) * secondsOfDay)} turns a day in ` +
      `the mean of all sessions that are kept; above that it is the processor. The network would be the limit from ` +
      `views of ${whole(viewWhereNetworkLimits(turn))} such messages on.`,
  ].join("\n\n");
}

/** Messages in the view at which a shard's share of the network is used up before its processor is. */
function viewWhereNetworkLimits({ cpu, bytesOut }: TurnModel): number {
  const [a, b] = [shard.network / shard.cpu, bytesOut];
  return (a * cpu.base - b.base) / (b.slope - a * cpu.slope);
}

function variantText({ variants, replica }: CapacityFindings): string {
  const usual = variants[0]!;
  const kept = variants.find(({ name }) => name.includes('"keep"'))!;
  const rows = variants.map((variant) => {
    const base = variant.name.includes('"discard"') ? kept : usual;
    const show = (value: number, of: number, unit: string) =>
      base === variant || variant === kept
        ? `${whole(value)} ${unit}`
        : `${whole(value)} ${unit} (${signed(value / of - 1)})`;
    return [
      variant.name,
      show(variant.bytes, base.bytes, "B"),
      // Without a ratio: it wavers more than most of these change it.
      `${whole(variant.turn.cpu)} µs`,
      show(variant.turn.bytesIn, base.turn.bytesIn, "B"),
      show(variant.turn.bytesOut, base.turn.bytesOut, "B"),
    ];
  });
  return [
    "### What options and settings change",
    "Sessions of 20 messages with texts of 400 characters, and a turn of each; with 100 messages, a reducer leaves a " +
      "view of 20 to 30.",
    table(["", "a session", "processor a turn", "bytes in", "bytes out"], rows),
    `One replica costs its master ${signed(replica.with.cpu / replica.without.cpu - 1)} of processor time and ` +
      `${signed(replica.with.bytesOut / replica.without.bytesOut - 1)} of bytes out, a turn.`,
  ].join("\n\n");
}

function checkText({ check }: CapacityFindings): string {
  const { bytes, cost, predicted, sessions, turns } = check;
  const total = bytes.reduce((sum, each) => sum + each, 0);
  const mean = total / bytes.length;
  const line = (name: string, foretold: number, found: number, unit: string, scale = 1) => [
    name,
    `${digits(foretold / scale)} ${unit}`,
    `${digits(found / scale)} ${unit}`,
    signed(foretold / found - 1),
  ];
  const rows = [
    line("memory of all masters", predicted.bytes, total, "MB", 1e6),
    line("processor a turn", predicted.cpu / turns, cost.cpu / turns, "µs"),
    line("bytes in a turn", predicted.bytesIn / turns, cost.bytesIn / turns, "B"),
    line("bytes out a turn", predicted.bytesOut / turns, cost.bytesOut / turns, "B"),
  ];
  return [
    "### How well this foretells a cluster",
    `A cluster of ${bytes.length} masters, filled with ${whole(sessions)} sessions of 2 to 200 messages (20 in the ` +
      "mean) with texts of 100, 400 and 1,000 characters, as the model above was made without them; then a turn in " +
      `${whole(turns)} of them.`,
    table(["", "foretold", "measured", "error"], rows),
    `The fullest master has ${signed(Math.max(...bytes) / mean - 1)} of the mean, the emptiest ` +
      `${signed(Math.min(...bytes) / mean - 1)}: a shard is filled by the hash of session ids. With more sessions ` +
      "they come closer. Processor time wavers with what else the machine does; memory and bytes do not.",
  ].join("\n\n");
}

/** A paragraph in lines of at most 120 characters; rows of tables stay whole. */
function wrapped(line: string): string {
  return line.startsWith("|") ? line : line.replaceAll(/(?! )(.{1,120})(?: |$)/g, "$1\n").trimEnd();
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return tableText({ title: "", head, rows });
}

function signed(share: number): string {
  return `${share < 0 ? "−" : "+"}${digits(Math.abs(100 * share))} %`;
}
