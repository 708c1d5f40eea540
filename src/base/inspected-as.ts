/**
 * Lets `console.log` show an object as a text. In its constructor, because bundlers keep a class with a computed name
 * whether it is used or not.
 */
export function inspectedAs(target: object, text: () => string): void {
  Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), { value: text, configurable: true });
}
