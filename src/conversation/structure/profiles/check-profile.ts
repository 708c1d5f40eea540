import * as z from "zod/mini";
import { ConfigurationError } from "../../../base/errors.js";
import { lazy, nonNegativeInteger, objectOf, parseOptions } from "../../../base/options.js";
import { type Adapter, adapters } from "../adapters/adapter.js";
import { ruleIds } from "../rules/rules.js";
import type { BuiltInProfile } from "./built-in-profiles.js";
import type { StructureProfile } from "./profile.js";

const oneOf = <const T extends readonly [string, ...string[]]>(...values: T) =>
  z.optional(z.enum(values, `must be ${values.map((value) => `"${value}"`).join(" or ")}`));

const text = lazy(() => z.string("must be a string"));
const texts = lazy(() => z.optional(z.array(text(), "must be an array of strings")));

const callIds = lazy(() =>
  z.optional(
    z.strictObject({
      characters: z.optional(text().check(z.minLength(1, "must not be empty"))),
      minLength: z.optional(nonNegativeInteger()),
      maxLength: z.optional(nonNegativeInteger()),
      reuse: oneOf("error", "warning", "accepted"),
    }),
  ),
);

/** A strict object whose keys are all optional. */
const record = <T extends z.ZodMiniType>(keys: readonly string[], value: T) =>
  objectOf(Object.fromEntries(keys.map((key) => [key, value])), "an object");

const profileSchema = lazy(() =>
  z.strictObject({
    name: text(),
    rules: record(ruleIds, oneOf("error", "warning")),
    adapter: oneOf(...adapters),
    callIds: callIds(),
    systemOnly: oneOf("accepted", "refused"),
    firstMessage: oneOf("user", "not-a-call"),
    resultOrder: oneOf("any", "calls"),
    blankText: oneOf("accepted", "refused"),
    names: z.optional(z.strictObject({ characters: text(), maxLength: nonNegativeInteger() })),
    blocks: z.optional(record(["system", "user", "tool", "other"], texts())),
    maxMedia: z.optional(nonNegativeInteger()),
  }),
);

/** The built-in profiles that no adapter is named like. */
const otherNames = { langchain: true, openai: true, gemini: true, "strict-template": true } satisfies Readonly<
  Record<Exclude<BuiltInProfile, Adapter>, true>
>;

/** A profile by its name, or one of the application's; `"auto"` stands for that of each request's model. */
export type ProfileChoice = BuiltInProfile | StructureProfile | "auto";

/** Cache of validated profiles: an application passes the same object with every turn. */
const checkedProfiles = new WeakSet<StructureProfile>();

/**
 * Checks the name of a profile, or a profile of the application's: that once, by its identity.
 *
 * @throws ConfigurationError naming `owner`: `profile` for an unknown name, the path of what is wrong in a profile,
 *   such as an unknown rule or key.
 */
export function checkProfile(
  owner: string,
  profile: BuiltInProfile | StructureProfile,
): BuiltInProfile | StructureProfile {
  const names: readonly string[] = [...Object.keys(otherNames), ...adapters];
  if (typeof profile === "string" && names.includes(profile)) {
    return profile;
  }
  if (typeof profile !== "object" || profile === null) {
    const list = names.join(", ");
    throw new ConfigurationError("profile", `${owner}: option "profile" must be a profile or one of ${list}.`);
  }
  if (!checkedProfiles.has(profile)) {
    parseOptions(owner, z.object({ profile: profileSchema() }), { profile });
    checkedProfiles.add(profile);
  }
  return profile;
}
