import { badLine, parseLine, type ExportLine } from "./lines.js";

/** Reader of an export's lines with one line of pushback. */
export class LineReader {
  readonly #lines: AsyncIterator<string> | Iterator<string>;
  #number = 0;
  #last = "";
  #back: string | undefined;

  constructor(lines: AsyncIterable<string> | Iterable<string>) {
    this.#lines = Symbol.asyncIterator in lines ? lines[Symbol.asyncIterator]() : lines[Symbol.iterator]();
  }

  get number(): number {
    return this.#number;
  }

  /** The next line that is not empty, as text. */
  async text(): Promise<string | undefined> {
    const back = this.#back;
    this.#back = undefined;
    if (back !== undefined) {
      this.#number += 1;
      return (this.#last = back);
    }
    for (;;) {
      const { done = false, value } = await this.#lines.next();
      if (done) {
        return undefined;
      }
      this.#number += 1;
      if ((value as string).trim() !== "") {
        return (this.#last = value as string);
      }
    }
  }

  async line(): Promise<ExportLine | undefined> {
    const text = await this.text();
    return text === undefined ? undefined : parseLine(this.#number, text);
  }

  /** The next line inside a session. @throws RecordError `corrupt` at the end of the export. */
  async required(): Promise<ExportLine> {
    const line = await this.line();
    if (line === undefined) {
      throw badLine(this.#number, "the export ends before the session's end");
    }
    return line;
  }

  /** Skips to the next session, thread or item; `from` is the number of this session's first line. */
  async skipSession(from: number): Promise<void> {
    const isNext = this.#number > from && this.#back === undefined;
    let text = isNext ? this.#last : await this.text();
    for (; text !== undefined; text = await this.text()) {
      if (/^\s*\{\s*"type"\s*:\s*"(session|thread|item)"/.test(text)) {
        this.#back = text;
        this.#number -= 1;
        return;
      }
    }
  }
}
