import {
  type ConfigEntry,
  type ConfigNode,
  type ConfigScalar,
  configError,
  type Place,
  TextPlaces,
} from "./config-node.ts";

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
