import { readSync } from "node:fs";
import { MalformedMessage } from "../../threads/malformed-message.ts";

/** The reading end of a memory file that another process writes, which is not trusted. */
export class RingReader {
  readonly #fd: number;
  /** Bytes that one message may take of it. */
  readonly size: number;

  constructor(fd: number, size: number) {
    this.#fd = fd;
    this.size = size;
  }

  /** A copy of the content at a place; throws {@link MalformedMessage} where the file has none. */
  read(place: number, bytes: number): ArrayBuffer {
    if (place + bytes > this.size) throw new MalformedMessage(`it claims ${bytes} bytes at ${place} of ${this.size}`);
    const content = Buffer.allocUnsafeSlow(bytes);
    for (let done = 0; done < bytes; ) {
      const count = readSync(this.#fd, content, done, bytes - done, place + done);
      if (count === 0) throw new MalformedMessage("its memory file is shorter than it says");
      done += count;
    }
    return content.buffer;
  }
}
