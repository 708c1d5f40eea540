import * as z from "zod/mini";
import { parseOptions } from "../src/base/options.js";

describe("parseOptions", () => {
  const schema = z.strictObject({ list: z.array(z.int("must be a whole number")) });
  const errorFor = (options: unknown) => {
    try {
      return parseOptions("owner", schema, options);
    } catch (error) {
      return error;
    }
  };

  it("is a typed error even if more than one option is wrong", () => {
    expect(errorFor({ list: Array.from({ length: 200_000 }, () => "SECRET") })).toMatchObject({
      name: "ConfigurationError",
    });
  });
});

describe("an option that is wrong", () => {
  const schema = z.strictObject({
    persist: z.optional(z.enum(["turn", "step"], 'must be "turn" or "step"')),
    maxTokens: z.int("must be a positive integer"),
    inputMessagesKey: z.optional(z.string("must be a string")),
    outputMessagesKey: z.optional(z.string("must be a string")),
  });
  const sentence = (options: unknown) => {
    try {
      return parseOptions("owner", schema, options);
    } catch (error) {
      return (error as Error).message;
    }
  };

  it.each([
    [{ maxTokens: 1, persist: "always" }, 'owner: option "persist" must be "turn" or "step"; got "always".'],
    [
      { maxTokens: 1, persist: "steps" },
      'owner: option "persist" must be "turn" or "step"; got "steps"; did you mean "step"?',
    ],
    [{ maxTokens: "100" }, 'owner: option "maxTokens" must be a positive integer; got "100" (string).'],
    [{ maxTokens: "sk-secret" }, 'owner: option "maxTokens" must be a positive integer; got a value of type string.'],
    [{ maxTokens: 1.5 }, 'owner: option "maxTokens" must be a positive integer; got 1.5 (number).'],
    [{}, 'owner: option "maxTokens" must be a positive integer; got undefined.'],
    [{ maxToken: 1 }, 'owner: there is no option "maxToken"; did you mean "maxTokens"?'],
    [{ maxTokens: 1, key: "q" }, 'owner: there is no option "key"; remove it or check its spelling.'],
  ])("is told by what was given, and by the name that was meant: %j", (options, expected) => {
    expect(sentence(options)).toBe(expected);
  });
});
