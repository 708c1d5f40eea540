import { luaMutantsOf } from "../../tools/faults/mutants/lua-mutants.js";
import { probesIn, withProbes } from "../../tools/faults/mutants/lua-probes.js";

describe("The mutants of a Lua text", () => {
  const text = "local a = 1\nif a < 2 and not b then\n  call('x')\nend\n";

  it("change one place each", () => {
    expect(luaMutantsOf(text).map(({ line, says }) => [line, says])).toEqual([
      [2, "< → <="],
      [2, "not b → b"],
      [2, "and → or"],
      [2, "a < 2 and not b → a < 2"],
      [2, "a < 2 and not b → not b"],
      [3, "call('x') → do end"],
      [2, "a < 2 and not b → true"],
      [2, "a < 2 and not b → false"],
    ]);
  });

  it("leave the rest of the text as it was", () => {
    const mutant = luaMutantsOf(text).find(({ says }) => says.endsWith("do end"))!;
    expect(mutant.text).toBe(text.replace("call('x')", "do end"));
    expect(luaMutantsOf("-- a < b\nlocal s = 'a < b'\n")).toEqual([]);
  });
});

describe("A Lua text with probes", () => {
  const text = "local a = 1\nlocal f = function() return a end\nif a < 2 then\n  f()\nend\n";
  const { text: probed, count, probeAt } = withProbes(text, 10);

  it("says of each statement that it runs", () => {
    const lines = probed.replaceAll(/probe\((\d+)\);/g, "#$1 ").split("\n");
    expect(lines).toEqual([
      "#10 local a = 1",
      "#11 local f = function() #12 return a end",
      "#13 if a < 2 then",
      "  #14 f()",
      "end",
      "",
    ]);
    expect(count).toBe(5);
  });

  it("knows the innermost statement of a place", () => {
    expect(["return a", "a < 2", "f()\n", "function()"].map((part) => probeAt(text.indexOf(part)))).toEqual([
      12, 13, 14, 11,
    ]);
  });

  it("is read from the log of a server", () => {
    const line = (text: string) => `7:M 26 Nov 2026 22:00:00.000 # ${text}\n`;
    expect(probesIn(`${line("probe 7;")}${line("Ready")}${line("probe 12;")}${line("probe 7;")}`)).toEqual([7, 12]);
    expect(probesIn("")).toEqual([]);
  });
});
