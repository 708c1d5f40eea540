/** Something that was looked at. `ok` and `note` need nothing; the command's exit code says the worst of the others. */
export interface Finding {
  readonly level: "ok" | "note" | "warning" | "problem";
  /** The subject, such as `eviction`. */
  readonly check: string;
  readonly found: string;
  /** The advice; empty where there is nothing to do. */
  readonly advice: string;
}

/** Creates a finding. */
export function finding(level: Finding["level"], check: string, found: string, advice = ""): Finding {
  return { level, check, found, advice };
}
