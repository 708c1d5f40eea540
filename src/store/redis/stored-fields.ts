// Constants shared with the Lua scripts, which name them by `@const`.

/**
 * Characters that stand for an id: 84 bits of its SHA-256, enough that ten million messages of one session share none
 * by chance.
 */
export const idHashLength = 14;

/** Characters of a digest, which begins each value of `ids`. */
export const digestLength = 8;

/** The checksum of a log is a number below the modulus, multiplied by the factor for each further record. */
export const sumFactor = 33;
/** See {@link sumFactor}. */
export const sumModulus = 2 ** 47 - 115;

/** Fields of `state` that make up a view, in the order in which every read returns them. */
export const viewFields = [
  "epoch",
  "rev",
  "base",
  "start",
  "next",
  "head",
  "headCount",
  "tokens",
  "counter",
  "owner",
  "erased",
  "sum",
  "key",
  "dek",
] as const;

/** Fields of `state` that every short path of an append checks. */
export const plainFields = [
  "next",
  "rounds",
  "epoch",
  "owner",
  "base",
  "start",
  "headCount",
  "tokens",
  "fence",
  "key",
  "erased",
  "sum",
] as const;

/** Further fields that the short path checks if a caller makes claims. */
export const claimFields = ["counter", "holder", "waiters", "label"] as const;

/** Fields of `ids` up to which Redis may keep it in its compact form. */
export const mostCompact = 32;

/** The field of `ids` that names the session's owner; no hash of an id has its form. */
export const ownerField = "[owner]";

/** The fields of `ids` that keep the session's data key, as `key` and `dek` of `state` do, for the loss of `state`. */
export const keyField = "[key]";
/** See {@link keyField}. */
export const dekField = "[dek]";

/** The field of a thread's `checkpoints` and of the `values` of items that holds the data keys of their texts. */
export const keysField = "keys";
