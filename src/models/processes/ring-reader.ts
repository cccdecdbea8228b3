import type { MappedFile } from "../../platform/native/mapped-file.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";

/** The reading end of a memory file that another process writes, which is not trusted. */
export class RingReader {
  readonly #file: MappedFile;
  /** Bytes that one message may take of it. */
  readonly size: number;

  constructor(file: MappedFile) {
    this.#file = file;
    this.size = file.size;
  }

  /**
   * A copy of the content at a place, in memory from `allocate`; throws
   * {@link MalformedMessage} if the file has none.
   */
  read(place: number, bytes: number, allocate: (bytes: number) => ArrayBuffer): ArrayBuffer {
    if (place + bytes > this.size) throw new MalformedMessage(`it claims ${bytes} bytes at ${place} of ${this.size}`);
    // What a process sent before it ended may arrive afterwards.
    if (this.#file.isClosed) throw new MalformedMessage("its memory file is closed");
    return this.#file.read(place, allocate(bytes));
  }
}
