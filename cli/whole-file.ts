import { rmSync } from "node:fs";
import { lstat, open, readlink, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { randomToken } from "../src/base/ids.js";
import { DataError, UsageError } from "./failure.js";

/**
 * A file that is complete or absent: what is written stands beside it, and takes its place at the end. A file that was
 * there before stays until then. A device or pipe is written into, and not replaced.
 */
export class WholeFile {
  readonly path: string;
  /** True while nothing was written. */
  isEmpty = true;
  /** Undefined for a device or pipe. */
  readonly #part: string | undefined;
  readonly #file: FileHandle;
  readonly #removePart = () => this.#part && rmSync(this.#part, { force: true });

  private constructor(path: string, part: string | undefined, file: FileHandle) {
    this.path = path;
    this.#part = part;
    this.#file = file;
    // A second Ctrl-C ends the process at once.
    process.once("exit", this.#removePart);
  }

  /** @throws UsageError if no file can be written there. */
  static async create(path: string): Promise<WholeFile> {
    const file = await stat(path).catch(() => undefined);
    if (file?.isDirectory()) {
      throw new UsageError(`${path}: is a folder; name a file.`);
    }
    if (file?.isFile() && (file.mode & 0o222) === 0) {
      throw new UsageError(`${path}: is write-protected; name another file.`);
    }
    const isSpecial = (file !== undefined && !file.isFile()) || (await leadsToProcess(path));
    const part = isSpecial ? undefined : `${path}.${randomToken()}.part`;
    try {
      // Nobody else may read what conversations hold.
      return new WholeFile(path, part, await (part === undefined ? open(path, "a") : open(part, "wx", 0o600)));
    } catch (error) {
      throw new UsageError(`${path}: the file cannot be written (${codeOf(error)}).`);
    }
  }

  /** Adds text. @throws DataError if there is no room for it. */
  async write(text: string): Promise<void> {
    this.isEmpty &&= text === "";
    await this.#attempt(() => this.#file.writeFile(text));
  }

  /** Puts the file in its place. @throws DataError if that fails; the part is removed then. */
  async complete(): Promise<void> {
    await this.#attempt(async () => {
      await (this.#part === undefined ? undefined : this.#file.sync());
      await this.#file.close();
      await (this.#part === undefined ? undefined : rename(this.#part, this.path));
    });
    process.removeListener("exit", this.#removePart);
  }

  /** Removes what was written. */
  async discard(): Promise<void> {
    process.removeListener("exit", this.#removePart);
    await this.#file.close().catch(() => undefined);
    await (this.#part === undefined ? undefined : unlink(this.#part).catch(() => undefined));
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

/** True for a name of one of the process's own streams, such as /dev/stdout, whatever that leads to. */
async function leadsToProcess(path: string): Promise<boolean> {
  const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
  const target = isLink ? resolve(dirname(path), await readlink(path)) : resolve(path);
  return /^\/(?:dev|proc)\//.test(target);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
