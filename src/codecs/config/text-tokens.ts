import { configError, MAX_CONFIG_NODES, type Place } from "./config-node.ts";
import { unescapeText } from "./unescape-text.ts";

/** One token of protobuf's text format. */
export interface TextToken {
  readonly kind: "word" | "number" | "string" | "mark" | "end";
  /** As written; of a string its value, its escapes resolved. */
  readonly text: string;
  readonly place: Place;
}

const SPACE = /(?:[ \t\r\n\v\f]|#[^\n]*(?:\n|$))*/y;
const TOKEN =
  /(?<word>[A-Za-z_]\w*)|(?<number>0[xX][\dA-Fa-f]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fF]?)|(?<string>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')|(?<mark>[{}<>[\]:;,\-/.])/y;

/** Splits protobuf's text format into tokens, without comments; throws `invalid_argument` for an invalid one. */
export class TextTokens {
  readonly #text: string;
  readonly #file: string;
  #position = 0;
  #line = 1;
  #lineStart = 0;
  #values = 0;
  /** Looked at, but not taken. */
  #ahead: TextToken;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#ahead = this.#read();
  }

  peek(): TextToken {
    return this.#ahead;
  }

  next(): TextToken {
    const token = this.#ahead;
    if (token.kind !== "end") this.#ahead = this.#read();
    return token;
  }

  /** Counts the value that begins with a token; throws `invalid_argument` for too many. */
  countValue({ place }: TextToken): void {
    if (++this.#values > MAX_CONFIG_NODES)
      throw configError(place, `The file has more than ${MAX_CONFIG_NODES} values.`);
  }

  /** Takes the next token where it is one of these marks. */
  takeMark(...marks: readonly string[]): TextToken | undefined {
    return this.#ahead.kind === "mark" && marks.includes(this.#ahead.text) ? this.next() : undefined;
  }

  #read(): TextToken {
    SPACE.lastIndex = this.#position;
    this.#advance(SPACE.exec(this.#text)?.[0] ?? "");
    const place = { file: this.#file, line: this.#line, column: this.#position - this.#lineStart + 1 };
    if (this.#position === this.#text.length) return { kind: "end", text: "the end of the file", place };
    TOKEN.lastIndex = this.#position;
    const { word, number, string, mark } = TOKEN.exec(this.#text)?.groups ?? {};
    this.#position += (word ?? number ?? string ?? mark ?? "").length;
    if (word !== undefined) return { kind: "word", text: word, place };
    if (number !== undefined) return { kind: "number", text: this.#checkNumber(number, place), place };
    if (string !== undefined) return { kind: "string", text: unescapeText(string.slice(1, -1), place), place };
    if (mark !== undefined) return { kind: "mark", text: mark, place };
    throw configError(place, this.#stray());
  }

  /** `10abc` is neither a number nor a word. */
  #checkNumber(number: string, place: Place): string {
    const after = this.#text[this.#position] ?? "";
    if (!/\w/.test(after)) return number;
    throw configError(place, `"${number}${after}" is not a number; put a space, or quotes around a text.`);
  }

  #stray(): string {
    const found = String.fromCodePoint(this.#text.codePointAt(this.#position) as number);
    if (found === '"' || found === "'") return "A text has no closing quote on its line; expected one.";
    return `${JSON.stringify(found)} has no meaning here; expected a field's name, or a text in quotes.`;
  }

  #advance(skipped: string): void {
    for (let at = skipped.indexOf("\n"); at >= 0; at = skipped.indexOf("\n", at + 1)) {
      this.#line++;
      this.#lineStart = this.#position + at + 1;
    }
    this.#position += skipped.length;
  }
}
