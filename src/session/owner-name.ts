import { ConfigurationError } from "../base/errors.js";

const maxOwnerBytes = 512;

/**
 * Refuses an owner that is no text of 1 to 512 bytes of UTF-8.
 *
 * @throws ConfigurationError `owner`; `user` is what was called.
 */
export function checkOwnerName(user: string, owner: unknown): asserts owner is string {
  const isText = typeof owner === "string" && owner !== "" && owner.length <= maxOwnerBytes && owner.isWellFormed();
  if (!isText || Buffer.byteLength(owner) > maxOwnerBytes) {
    throw new ConfigurationError(
      "owner",
      `${user}: option "owner" must be a string of 1 to ${maxOwnerBytes} bytes of well-formed UTF-8.`,
    );
  }
}
