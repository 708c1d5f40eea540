import type { SessionEdits } from "../../src/store/contract/session-writes.js";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { SessionStoreCore } from "../../src/store/contract/session-store.js";
import type { Stored, StoredText, WithoutTexts, WithTexts } from "../../src/store/contract/stored-texts.js";
import { unsealed, type SealedCalls } from "../../src/store/sealed/sealed-calls.js";

/** A method as somebody adds it, with a text in its request and another in its result. */
interface NewMethods {
  note(session: object, request: { readonly version: string; readonly remark: string }): Promise<void>;
  notes(session: object, prefix: string): Promise<readonly { readonly id: string; readonly remark: string }[]>;
  count(session: object, name: string): Promise<number>;
}

describe("the type of the contract under the sealing code", () => {
  it("takes no plain text, and returns none: this file does not compile otherwise", () => {
    const request = { version: "v", remark: "secret" };
    const calls: ((methods: Stored<NewMethods>, core: Stored<SessionStoreCore>, sealed: SealedCalls) => unknown)[] = [
      // @ts-expect-error A text under a new name has to be sealed.
      (methods) => methods.note({}, request),
      (methods) => methods.note({}, { ...request, remark: unsealed("said to be sealed") }),
      // @ts-expect-error A text under a new name has to be opened.
      async (methods): Promise<string | undefined> => (await methods.notes({}, "p"))[0]?.remark,
      async (methods): Promise<StoredText | undefined> => (await methods.notes({}, "p"))[0]?.remark,
      // @ts-expect-error A record has to be sealed.
      (_, core) => core.append({ id: "s" }, { records: [{ id: "m", digest: "AAAAAAAA", record: "secret" }] }),
      // @ts-expect-error A label has to be sealed.
      (_, core) => core.clear({ id: "s", label: { title: "secret" } }),
      // @ts-expect-error A view has to be opened.
      async (_, core): Promise<SessionView> => core.readView({ id: "s" }),
      // @ts-expect-error Only texts of known names are opened.
      async (methods, _, sealed) => sealed.opened<{ remark: string }>((await methods.notes({}, "p"))[0]!),
    ];
    expect(calls).toHaveLength(8);
  });

  it("tells methods with texts from those without", () => {
    const without: { readonly [Name in keyof WithoutTexts<NewMethods>]: true } = { count: true };
    const withTexts: { readonly [Name in keyof WithTexts<NewMethods>]: true } = { note: true, notes: true };
    const edits: { readonly [Name in keyof WithTexts<SessionEdits>]: true } = { replaceTail: true };
    expect([without, withTexts, edits].map((each) => Object.keys(each).length)).toEqual([1, 2, 1]);
  });
});
