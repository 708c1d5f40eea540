/** A whole number with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A number with what it counts, `noun` in the singular. */
export function counted(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The end of year 9999: what is later is no time of a session. */
const latest = 253_402_300_799_999;

/** A time to the minute, in UTC; empty for none, which is also what 0 and the numbers of damaged sessions say. */
export function minute(milliseconds: number | undefined): string {
  const isTime = milliseconds !== undefined && milliseconds > 0 && milliseconds <= latest;
  return isTime ? new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ") : "";
}

/** How long until a time, in the largest unit that fits; empty for none. */
export function until(milliseconds: number | undefined, now: number): string {
  if (milliseconds === undefined) {
    return "";
  }
  const left = Math.max(0, milliseconds - now) / 1_000;
  const units = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
  ] as const;
  const [unit, seconds] = units.find(([, size]) => left >= size) ?? ["s", 1];
  return `${Math.floor(left / seconds)} ${unit}`;
}

/** How long the rest takes at the pace so far, to the second; a question mark until there is a pace. */
export function timeLeft(elapsed: number, { done, total }: { readonly done: number; readonly total: number }): string {
  if (done === 0 || elapsed < 1_000) {
    return "?";
  }
  const seconds = Math.ceil((elapsed / 1_000) * (Math.max(0, total - done) / done));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** A size in the largest decimal unit that fits. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  const value = count / 1_000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[power]}`;
}
