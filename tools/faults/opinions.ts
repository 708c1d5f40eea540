import type { Finding } from "./checking/finding.js";
import type { Opinion } from "./second-opinion/judge.js";

/** The second opinion for people. */
export function opinionLines({ acknowledged, sessions, anomalies, undecided }: Opinion): string[] {
  const counts = new Map<string, number>();
  anomalies.forEach(({ name }) => counts.set(name, (counts.get(name) ?? 0) + 1));
  const found = [...counts].map(([name, count]) => `${name} ${count}`).join(", ") || "none";
  return [
    `${acknowledged} messages acknowledged, ${sessions} sessions and threads, ${undecided.length} undecided`,
    `anomalies: ${found}`,
    ...[...counts.keys()].flatMap((name) =>
      anomalies
        .filter((anomaly) => anomaly.name === name)
        .slice(0, 5)
        .map(({ session, says }) => `${name} in ${session}: ${says}`),
    ),
  ];
}

/** Figures about the same promises as the second opinion's: the log of a session, and reads of it. */
const comparable = new Set<Finding["figure"]>([
  ...(["lost", "doubled", "torn", "reordered", "staleReads", "wrongForks", "mixedTurns"] as const),
]);

/** The sessions in which one opinion found something and the other nothing. */
export function differencesOf(findings: readonly Finding[], { anomalies, undecided }: Opinion): string[] {
  const nameOf = (session: string) => session.split(".copy.")[0]!;
  const first = new Map(findings.map((finding) => [nameOf(finding.session), finding]));
  const second = new Map(anomalies.map((anomaly) => [nameOf(anomaly.session), anomaly]));
  const missed = new Map(
    findings.filter(({ figure }) => comparable.has(figure)).map((one) => [nameOf(one.session), one]),
  );
  const open = new Set(undecided);
  return [
    ...[...second]
      .filter(([session]) => !first.has(session))
      .map(([session, { name }]) => `the opinions differ: only the second found something in ${session}: ${name}`),
    ...[...missed]
      .filter(([session]) => !second.has(session) && !open.has(session))
      .map(([session, { figure }]) => `the opinions differ: only the first found something in ${session}: ${figure}`),
  ];
}
