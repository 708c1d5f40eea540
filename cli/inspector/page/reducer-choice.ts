import type { AddressForm } from "./address.js";

/** A reducer that the reader tries, with its numbers. */
export interface ReducerChoice {
  readonly kind: "none" | "truncate" | "token" | "summarize" | "summarize tokens" | "tools";
  readonly first: number;
  readonly second: number;
}

interface ReducerKind {
  readonly words: string;
  /** The meaning of the numbers; undefined where there are none. */
  readonly first?: string;
  readonly second?: string;
  readonly defaults: { readonly first: number; readonly second: number };
}

const tokens = { first: 8_000, second: 6_400 };
const counts = { first: 20, second: 10 };

/** The reducers of the package. */
export const reducerKinds: Readonly<Record<ReducerChoice["kind"], ReducerKind>> = {
  token: { words: "Token budget", first: "At most, in tokens", second: "Cut to, in tokens", defaults: tokens },
  truncate: { words: "Newest messages", first: "Messages to keep", second: "More before a cut", defaults: counts },
  summarize: {
    words: "Summary, by messages",
    first: "Messages to keep",
    second: "More before a cut",
    defaults: counts,
  },
  "summarize tokens": {
    words: "Summary, by tokens",
    first: "At most, in tokens",
    second: "Cut to, in tokens",
    defaults: tokens,
  },
  tools: { words: "Shorter tool results", first: "Newest steps left whole", defaults: { first: 3, second: 1 } },
  none: { words: "Never cut", defaults: { first: 1, second: 1 } },
};

/** The reducer as the command line writes it. */
export function specOf({ kind, first, second }: ReducerChoice): string {
  switch (kind) {
    case "none":
      return "none";
    case "tools":
      return `tools:${first}`;
    case "token":
      return `token:${first}/${second}`;
    case "summarize tokens":
      return `summarize:${first}/${second}`;
    default:
      return `${kind}:${first}+${second}`;
  }
}

const firstChoice: ReducerChoice = { kind: "token", ...tokens };

/** The tried reducer in the address. */
export const choiceForm: AddressForm<ReducerChoice> = {
  name: "reducer",
  read: (text = "") => {
    const [first = 1, second = 1] = (text.match(/\d+/g) ?? []).map(Number);
    const kinds = Object.keys(reducerKinds) as ReducerChoice["kind"][];
    const kind = kinds.find((each) => specOf({ kind: each, first, second }) === text);
    return kind === undefined ? firstChoice : { kind, first, second };
  },
  write: (choice) => (specOf(choice) === specOf(firstChoice) ? undefined : specOf(choice)),
};
