import { parse, type Node } from "luaparse";

/** A file of Lua in which each statement says that it runs, by {@link probe}. */
export interface ProbedLua {
  readonly text: string;
  readonly count: number;
  /** The number of the innermost statement at a place of the original. */
  probeAt(place: number): number;
}

/** In front of a script, on its first line: what probes call. They write to the log of the server, each once a call. */
export const probe =
  "local probed = {} local function probe(n) if not probed[n] then probed[n] = true " +
  "redis.log(redis.LOG_WARNING, 'probe ' .. n .. ';') end end ";

/** @param first the number of the first statement */
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
    probed = `${probed.slice(0, from)}probe(${first + begins.length - 1 - at});${probed.slice(from)}`;
  });
  const probeAt = (place: number) => first + begins.findLastIndex(([from, to]) => from <= place && place < to);
  return { text: probed, count: begins.length, probeAt };
}

/** False for a function that is a value. */
function beginsStatement(before: string): boolean {
  return !/(?:[=,({]|\breturn|\band|\bor)\s*$/.test(before);
}

/** The numbers of the probes that a part of a log names. */
export function probesIn(log: string): number[] {
  return [...new Set(Array.from(log.matchAll(/ probe (\d+);/g), ([, number]) => Number(number)))];
}
