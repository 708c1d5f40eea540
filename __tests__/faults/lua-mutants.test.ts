import { luaMutantsOf } from "../../faults/mutants/lua-mutants.js";

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
