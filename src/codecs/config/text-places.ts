import type { Place } from "./config-node.ts";

/** Finds places in a text in their order, and so takes a time in proportion to the text for all of them. */
export class TextPlaces {
  readonly #text: string;
  readonly #file: string;
  /** The line of the last place. */
  #line = 1;
  #lineStart = 0;
  #lineEnd: number;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#lineEnd = this.#endOfLine();
  }

  /** The place of a character, which is not before the last one that was asked for. */
  at(index: number): Place {
    while (this.#lineEnd < index) {
      this.#line++;
      this.#lineStart = this.#lineEnd + 1;
      this.#lineEnd = this.#endOfLine();
    }
    return { file: this.#file, line: this.#line, column: index - this.#lineStart + 1 };
  }

  #endOfLine(): number {
    const end = this.#text.indexOf("\n", this.#lineStart);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}
