interface NumberFieldProps {
  readonly words: string;
  readonly value: number;
  readonly onValue: (value: number) => void;
}

/** A whole number of at least 1; what is none is put back. */
export function NumberField({ words, value, onValue }: NumberFieldProps) {
  return (
    <label class="field field-number">
      <span>{words}</span>
      <input
        type="number"
        min={1}
        step={1}
        value={value}
        onChange={({ currentTarget }) => {
          if (/^[1-9]\d{0,9}$/.test(currentTarget.value)) {
            onValue(Number(currentTarget.value));
          } else {
            currentTarget.value = String(value);
          }
        }}
      />
    </label>
  );
}
