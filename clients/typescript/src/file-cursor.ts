/** A cursor in a file, for Node. */

import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

import { type Cursor, CursorError, type CursorStore, readCursor } from "./cursor.js";

/** Bytes of a cursor's file that are read at all. */
const MAX_CURSOR_BYTES = 4_096;

/** A cursor that survives crashes of the process and the machine. Its file has the format of the Rust client's. */
export class FileCursor implements CursorStore {
  readonly #path: string;
  #saving: Promise<void> = Promise.resolve();

  /** The file need not exist yet; its folder must. */
  constructor(path: string) {
    this.#path = path;
  }

  async load(): Promise<Cursor | undefined> {
    let file: FileHandle;
    try {
      // A pipe would be waited for.
      file = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      const stat = await file.stat();
      const cursor = stat.isFile() && stat.size <= MAX_CURSOR_BYTES ? parse(await file.readFile("utf8")) : undefined;
      if (cursor === undefined)
        throw new CursorError(`${this.#path}: not a cursor; remove it to begin anew`, "bad-cursor");
      return cursor;
    } finally {
      await file.close();
    }
  }

  /** Resolved ⇒ durable. System calls: `unlink`, `open`, `write`, `fsync`, `rename`, `fsync` of the folder. */
  save(cursor: Cursor): Promise<void> {
    // One after the other: each one makes the same new file.
    const saved = this.#saving.then(() => this.#write(cursor));
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  async #write(cursor: Cursor): Promise<void> {
    const fresh = `${this.#path}.new`;
    // Made anew: the name may be a link to another file.
    await rm(fresh, { force: true });
    const file = await open(fresh, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify({ ledger: cursor.ledger, after: cursor.after }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, this.#path);
    // Windows opens no folders.
    if (process.platform === "win32") return;
    const folder = await open(dirname(this.#path), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

function parse(text: string): Cursor | undefined {
  try {
    return readCursor(JSON.parse(text));
  } catch {
    return undefined;
  }
}
