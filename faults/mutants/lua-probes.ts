import { parse, type Node } from "luaparse";

/** The key whose bits say which probes ran. */
export const probesKey = "lua-probes";

/** A file of Lua in which each statement says that it runs, by setting a bit of {@link probesKey}. */
export interface ProbedLua {
  readonly text: string;
  readonly count: number;
  /** The bit of the innermost statement at a place of the original. */
  probeAt(place: number): number;
}

/** @param first the bit of the first statement */
export function withProbes(text: string, first: number): ProbedLua {
  const statements: Node["range"][] = [];
  const onCreateNode = ({ type, range }: Node) => {
    if (type.endsWith("Statement") || type === "FunctionDeclaration") {
      statements.push(range);
    }
  };
  parse(text, { ranges: true, luaVersion: "5.1", onCreateNode });
  const begins = statements.filter(([from]) => beginsStatement(text.slice(0, from))).sort(([a], [b]) => a - b);
  let probed = text;
  [...begins].reverse().forEach(([from], at) => {
    const probe = `redis.call('SETBIT','${probesKey}',${first + begins.length - 1 - at},1);`;
    probed = `${probed.slice(0, from)}${probe}${probed.slice(from)}`;
  });
  const probeAt = (place: number) => first + begins.findLastIndex(([from, to]) => from <= place && place < to);
  return { text: probed, count: begins.length, probeAt };
}

/** False for a function that is a value. */
function beginsStatement(before: string): boolean {
  return !/(?:[=,({]|\breturn|\band|\bor)\s*$/.test(before);
}

/** The numbers of the bits that are set. */
export function bitsOf(bytes: Buffer | null): number[] {
  return [...(bytes ?? [])].flatMap((byte, at) =>
    [0, 1, 2, 3, 4, 5, 6, 7].flatMap((bit) => (byte & (0x80 >> bit) ? [at * 8 + bit] : [])),
  );
}
