declare const storing: unique symbol;

/** A text as a store keeps it. Only the sealing code makes one: of a text that it sealed, or has no key for. */
export interface StoredText {
  readonly [storing]: true;
}

/** Names of the strings in the contract of a store that are no texts of users, and are stored as they are. */
type PlainName =
  | ("id" | "ids" | "sessionId" | "lastId" | "owner" | "owners" | "keys" | "key" | "dek" | "hold" | "tag" | "name")
  | ("epoch" | "rev" | "cut" | "sum" | "version" | "labelVersion" | "counter" | "digest" | "digests" | "otherDigest")
  | ("turns" | "openTurns" | "opened" | "forget" | "remove" | "bound" | "take" | "release" | "place" | "member")
  | ("usage" | "reductions" | "knownIds" | "identity" | "onProblem" | "ticket" | "token" | "around" | "since");

type StoredArguments<List extends readonly unknown[]> = { [Index in keyof List]: Stored<List[Index]> };
/** `turn` is a name where it is a string. */
type StoredProperty<Name, Value> = Name extends PlainName
  ? Value
  : Name extends "turn"
    ? Stored<Value>
    : StoredValue<Value>;
type StoredValue<Value> = Value extends string ? (string extends Value ? StoredText : Value) : Stored<Value>;

/**
 * A part of the contract as a store under the sealing code has it: each string of another name than those listed above
 * is a StoredText, which is no string. So a new text under a new name compiles nowhere until it is sealed and opened.
 */
export type Stored<T> = T extends string | number | boolean | symbol | null | undefined | void
  ? T
  : T extends (...list: infer List) => infer Result
    ? (...list: StoredArguments<List>) => Stored<Result>
    : T extends Promise<infer Result>
      ? Promise<Stored<Result>>
      : T extends AsyncIterable<infer Item>
        ? AsyncIterable<Stored<Item>>
        : T extends readonly (infer Item)[]
          ? readonly StoredValue<Item>[]
          : { readonly [Name in keyof T]: StoredProperty<Name, T[Name]> };

/** The names of methods that carry no texts but the label of their caller. */
type PlainMethod<Group> = {
  [Name in keyof Group]: Group[Name] extends (caller: never, ...list: infer List) => infer Result
    ? [List, Result] extends [StoredArguments<List>, Stored<Result>]
      ? Name
      : never
    : never;
}[keyof Group];

/** The methods of a group that carry no texts. */
export type WithoutTexts<Group> = Pick<Group, PlainMethod<Group>>;

/** The methods of a group that carry texts. */
export type WithTexts<Group> = Omit<Group, PlainMethod<Group>>;
