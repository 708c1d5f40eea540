import type { SideChanges } from "./session-store.js";

/** Applies changes to side fields: removals, then settings, then the bound. */
export function applySide(fields: Map<string, string>, changes: SideChanges | undefined): void {
  changes?.remove?.forEach((name) => fields.delete(name));
  for (const [name, value] of Object.entries(changes?.set ?? {})) {
    fields.set(name, value);
  }
  if (changes?.bound !== undefined) {
    const { prefix, keep } = changes.bound;
    const names = [...fields.keys()].filter((name) => name.startsWith(prefix)).sort(byBytes);
    names.slice(0, Math.max(0, names.length - keep)).forEach((name) => fields.delete(name));
  }
}

/** The fields whose names begin with a prefix, in byte order of their names. */
export function sideWithPrefix(fields: Iterable<readonly [string, string]>, prefix: string): Record<string, string> {
  const chosen = [...fields].filter(([name]) => name.startsWith(prefix)).sort(([a], [b]) => byBytes(a, b));
  return Object.fromEntries(chosen);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
