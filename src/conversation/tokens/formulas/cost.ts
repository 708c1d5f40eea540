import { jsonText } from "../../../base/json-text.js";

/** A cost in tokens before its texts are tokenized, so that one formula serves every counter. */
export interface Cost {
  /** Texts whose tokens are to be added; each is tokenized by itself. */
  readonly texts: readonly string[];
  /** Tokens that no encoding decides: overhead, images, audio, files. */
  readonly tokens: number;
}

/** Adds up a {@link Cost}. */
export class CostSum implements Cost {
  readonly texts: string[] = [];
  tokens = 0;

  addText(text: unknown): void {
    if (typeof text === "string" && text !== "") {
      this.texts.push(text);
    }
  }

  /** Adds a value as it goes over the wire: a string as it is, anything else as JSON. */
  addValue(value: unknown): void {
    this.addText(typeof value === "string" ? value : jsonText(value));
  }
}
