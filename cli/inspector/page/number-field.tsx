import { useState } from "preact/hooks";

interface NumberFieldProps {
  readonly words: string;
  readonly value: number | undefined;
  /** Called with each number that is typed; what is none is put back when the reader leaves the field. */
  readonly onValue: (value: number) => void;
  readonly class?: string;
}

/** A whole number of at least 1. A number that is being typed survives renders of the page. */
export function NumberField({ words, value, onValue, class: className = "field" }: NumberFieldProps) {
  const [typed, setTyped] = useState<string>();
  const type = (text: string) => {
    setTyped(text);
    if (/^[1-9]\d{0,9}$/.test(text)) {
      onValue(Number(text));
    }
  };
  return (
    <label class={className}>
      <span>{words}</span>
      <input
        type="number"
        min={1}
        step={1}
        value={typed ?? value ?? ""}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={() => setTyped(undefined)}
      />
    </label>
  );
}
