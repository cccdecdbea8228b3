import { invalidArgument, type ServingError } from "../../../errors.ts";

/** A place in a configuration file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One value of a configuration file of any format, and its place. */
export type ConfigNode = ConfigMap | ConfigList | ConfigScalar;

/** Named values in the order of the file. Protobuf's text format repeats a name for each value of a list. */
export interface ConfigMap {
  readonly kind: "map";
  readonly place: Place;
  readonly entries: readonly ConfigEntry[];
}

/** A name, where it stands, and its value. */
export interface ConfigEntry {
  readonly key: string;
  readonly place: Place;
  readonly value: ConfigNode;
}

/** Values in order. */
interface ConfigList {
  readonly kind: "list";
  readonly place: Place;
  readonly items: readonly ConfigNode[];
}

/** A single value. */
export interface ConfigScalar {
  readonly kind: "scalar";
  readonly place: Place;
  readonly value: string | number | bigint | boolean | null;
  /** The unquoted source text: `1.0` and `007` are kept. */
  readonly text: string;
  /** True for an unquoted word of protobuf's text format, such as the name of an enum's value. */
  readonly isWord?: true;
}

/** Nesting that no configuration needs; protobuf's parsers stop here too. */
export const MAX_CONFIG_DEPTH = 100;

/** Values that a file may have. */
export const MAX_CONFIG_NODES = 100_000;

/** `FILE:LINE:COLUMN`. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** An `invalid_argument` whose message begins with the place. */
export function configError(place: Place, problem: string): ServingError {
  return invalidArgument(`${placeText(place)}: ${problem}`);
}

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

/** Nesting and values of a text that a client sends: far above any model's configuration. */
const [MAX_DEPTH, MAX_VALUES] = [100, 10_000];
/** Digits of an integer that is read exactly: those of 64 bits, with a sign. */
const MAX_DIGITS = 20;

const SPACE = /[ \t\r\n]*/y;
/** A text, a number or a word. */
const SCALAR = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null/y;

/**
 * Parses a client's JSON (RFC 8259) into the tree of a configuration, each value with its place. Takes a time in
 * proportion to the text. Throws `invalid_argument` with the place of an error, also for a name that an object has
 * twice, for nesting deeper than 100 and for more than 10 000 values.
 */
export function parseJsonTree(text: string, file: string): ConfigNode {
  const reader = new TreeReader(text, file);
  const root = reader.value(0);
  reader.assertEnd();
  return root;
}

class TreeReader {
  readonly #text: string;
  readonly #places: TextPlaces;
  #at = 0;
  #values = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#places = new TextPlaces(text, file);
  }

  value(depth: number): ConfigNode {
    const place = this.#place();
    if (depth > MAX_DEPTH) throw configError(place, `Values are nested deeper than ${MAX_DEPTH}.`);
    if (++this.#values > MAX_VALUES) throw configError(place, `There are more than ${MAX_VALUES} values.`);
    if (this.#take("{")) return { kind: "map", place, entries: this.#entries(depth) };
    if (this.#take("[")) return { kind: "list", place, items: this.#members("]", () => this.value(depth + 1)) };
    return this.#scalar(place);
  }

  assertEnd(): void {
    const place = this.#place();
    if (this.#at < this.#text.length) throw configError(place, `${this.#found()} follows the value; expected the end.`);
  }

  #entries(depth: number): readonly ConfigEntry[] {
    const names = new Set<string>();
    return this.#members("}", () => {
      const place = this.#place();
      const isText = this.#text[this.#at] === '"';
      if (!isText) throw configError(place, `${this.#found()} is not a name; expected a text in double quotes.`);
      const { text: key } = this.#scalar(place);
      if (names.has(key)) throw configError(place, `The object has a second ${JSON.stringify(key.slice(0, 100))}.`);
      names.add(key);
      this.#expect(":", "a name");
      return { key, place, value: this.value(depth + 1) };
    });
  }

  #members<Member>(close: string, read: () => Member): readonly Member[] {
    const members: Member[] = [];
    if (this.#take(close)) return members;
    for (;;) {
      members.push(read());
      if (this.#take(close)) return members;
      this.#expect(",", "a value", `"," or "${close}"`);
    }
  }

  #scalar(place: Place): ConfigScalar {
    SCALAR.lastIndex = this.#at;
    const [source] = SCALAR.exec(this.#text) ?? [];
    const value = source === undefined ? undefined : scalarOf(source);
    if (source === undefined || value === undefined)
      throw configError(place, `${this.#found()} is not a value of JSON.`);
    this.#at += source.length;
    const text = typeof value === "string" ? value : value === null ? "" : source;
    return { kind: "scalar", place, value, text };
  }

  #expect(mark: string, after: string, expected = `"${mark}"`): void {
    const place = this.#place();
    if (!this.#take(mark)) throw configError(place, `${this.#found()} follows ${after}; expected ${expected}.`);
  }

  #take(mark: string): boolean {
    this.#skipSpace();
    const isThere = this.#text[this.#at] === mark;
    if (isThere) this.#at++;
    return isThere;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #place(): Place {
    this.#skipSpace();
    return this.#places.at(this.#at);
  }

  #found(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? "The end of the text" : JSON.stringify(String.fromCodePoint(code));
  }
}

/** The value of a text, a number or a word; undefined if it is none, such as `1.` or a text with a line break. */
function scalarOf(source: string): ConfigScalar["value"] | undefined {
  try {
    const value = JSON.parse(source) as string | number | boolean | null;
    const isExact = typeof value === "number" && source.length <= MAX_DIGITS && /^-?\d+$/.test(source);
    return isExact ? BigInt(source) : value;
  } catch {
    return undefined;
  }
}
