import { printable } from "../text/printable.ts";

/** A stream on which a line may change. */
type LineStream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

const CLEAR = "\r\u001b[K";

/**
 * A line below everything else at a terminal, which changes in its place; does nothing
 * where the stream is not a terminal.
 */
export class LiveLine {
  readonly #stream: LineStream;
  #shown = "";

  constructor(stream: LineStream = process.stderr) {
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number {
    // 0 where the terminal does not know.
    return this.#stream.columns || 80;
  }

  show(text: () => string): void {
    if (!this.isTTY) return;
    this.#shown = printable(text()).slice(0, this.columns - 1);
    this.#stream.write(CLEAR + this.#shown);
  }

  clear(): void {
    if (this.#shown !== "") this.#stream.write(CLEAR);
    this.#shown = "";
  }

  /** Writes whole lines to the stream, above this one. */
  write(text: string): boolean {
    return this.#stream.write(this.#shown === "" ? text : CLEAR + text + this.#shown);
  }
}
