import { rmSync } from "node:fs";
import { open, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { randomToken } from "../src/base/ids.js";
import { DataError, UsageError } from "./failure.js";

/**
 * A file that is complete or absent: what is written stands beside it, and takes its place at the end. A file that was
 * there before stays until then.
 */
export class WholeFile {
  readonly path: string;
  readonly #part: string;
  readonly #file: FileHandle;
  readonly #removePart = () => rmSync(this.#part, { force: true });

  private constructor(path: string, part: string, file: FileHandle) {
    this.path = path;
    this.#part = part;
    this.#file = file;
    // A second Ctrl-C ends the process at once.
    process.once("exit", this.#removePart);
  }

  /** @throws UsageError if no file can be written there. */
  static async create(path: string): Promise<WholeFile> {
    if ((await stat(path).catch(() => undefined))?.isDirectory()) {
      throw new UsageError(`${path}: is a folder; name a file.`);
    }
    const part = `${path}.${randomToken()}.part`;
    try {
      // Nobody else may read what conversations hold.
      return new WholeFile(path, part, await open(part, "wx", 0o600));
    } catch (error) {
      throw new UsageError(`${path}: the file cannot be written (${codeOf(error)}).`);
    }
  }

  /** Adds text. @throws DataError if there is no room for it. */
  async write(text: string): Promise<void> {
    await this.#attempt(() => this.#file.writeFile(text));
  }

  /** Puts the file in its place. @throws DataError if that fails; the part is removed then. */
  async complete(): Promise<void> {
    await this.#attempt(async () => {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#part, this.path);
    });
    process.removeListener("exit", this.#removePart);
  }

  /** Removes what was written. */
  async discard(): Promise<void> {
    process.removeListener("exit", this.#removePart);
    await this.#file.close().catch(() => undefined);
    await unlink(this.#part).catch(() => undefined);
  }

  async #attempt(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      await this.discard();
      throw new DataError(`${this.path}: the file cannot be written (${codeOf(error)}); nothing was left there.`);
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
