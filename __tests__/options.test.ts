import { z } from "zod";
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

  it("names the first part that is wrong, and shows no text", () => {
    expect(errorFor({ list: [1, "SECRET"] })).toMatchObject({ name: "ConfigurationError", option: "list.1" });
    expect(String(errorFor({ list: [1, "SECRET"] }))).not.toContain("SECRET");
  });

  it("is a typed error even if more than one option is wrong", () => {
    expect(errorFor({ list: Array.from({ length: 200_000 }, () => "SECRET") })).toMatchObject({
      name: "ConfigurationError",
    });
  });
});
