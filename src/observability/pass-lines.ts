import { LogLimit } from "./log-limit.ts";

/** Characters of a line that are passed on: that of a progress bar may never end. */
const MAX_LINE = 8192;

/**
 * Calls back with each line of a program's output that is not empty, in order, and at its end with the incomplete last
 * line. Of a longer line its first 8192 characters are passed, and how many more there were; of more lines than a log
 * takes from one source (see {@link LogLimit}), how many were left out.
 */
export function passLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  const lines = new LineCutter(onLine);
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => lines.push(text));
  stream.on("end", () => lines.end());
}

class LineCutter {
  readonly #onLine: (line: string) => void;
  readonly #limit = new LogLimit();
  /** The beginning of the line under way. */
  #rest = "";
  /** Characters of it that came after its beginning was passed on. */
  #more = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Looks for one line after another: a list of all of them may take more memory than there is. */
  push(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#add(text, start, end);
      this.end();
      // What the log does not take is not even divided into lines.
      start = (this.#limit.isFull ? text.lastIndexOf("\n") : end) + 1;
    }
    this.#add(text, start, text.length);
  }

  /** The line under way has ended. */
  end(): void {
    const line = this.#rest.endsWith("\r") ? this.#rest.slice(0, -1) : this.#rest;
    if (this.#more > 0) this.#pass(`… (${this.#more} more characters of this line)`);
    else if (line !== "") this.#pass(line);
    this.#rest = "";
    this.#more = 0;
  }

  #add(text: string, start: number, end: number): void {
    if (this.#more > 0) {
      this.#more += end - start;
      return;
    }
    const room = MAX_LINE - this.#rest.length;
    this.#rest += text.slice(start, Math.min(end, start + room));
    if (end - start <= room) return;
    this.#pass(this.#rest);
    this.#more = end - start - room;
  }

  #pass(line: string): void {
    if (this.#limit.takes(line.length, this.#onLine)) this.#onLine(line);
  }
}
