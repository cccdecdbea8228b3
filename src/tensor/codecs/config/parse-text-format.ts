import {
  type ConfigEntry,
  type ConfigMap,
  type ConfigNode,
  type ConfigScalar,
  configError,
  MAX_CONFIG_DEPTH,
  MAX_CONFIG_NODES,
  type Place,
  TextPlaces,
} from "./config-node.ts";

/**
 * Parses protobuf's text format without knowing the message: all its liberties (comments, `:` left out before `{`,
 * `<>`, `;` and `,` between fields, both quotes, texts in several parts, `[1, 2]`). An extension's name keeps its
 * brackets. Throws `invalid_argument` with the place of what it cannot read.
 */
export function parseTextFormat(text: string, file: string): ConfigMap {
  const tokens = new TextTokens(text, file);
  const { place } = tokens.peek();
  return { kind: "map", place, entries: parseFields(tokens, undefined, 0) };
}

/** The fields up to a closing mark, which is taken; undefined = up to the end of the file. */
function parseFields(tokens: TextTokens, close: string | undefined, depth: number): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  for (;;) {
    const token = tokens.peek();
    if (token.kind === "end" && close === undefined) return entries;
    if (close !== undefined && tokens.takeMark(close)) return entries;
    entries.push(parseField(tokens, close, depth));
    tokens.takeMark(";", ",");
  }
}

function parseField(tokens: TextTokens, close: string | undefined, depth: number): ConfigEntry {
  const token = tokens.next();
  const key = token.text === "[" && token.kind === "mark" ? parseExtension(tokens) : fieldName(token, close);
  const colon = tokens.takeMark(":");
  const { kind, text } = tokens.peek();
  const isNested = kind === "mark" && ["{", "<", "["].includes(text);
  if (colon === undefined && !isNested)
    throw configError(tokens.peek().place, `"${key}" is followed by ${show(tokens.peek())}; expected ":" and a value.`);
  return { key, place: token.place, value: parseValue(tokens, key, depth) };
}

function fieldName(token: TextToken, close: string | undefined): string {
  if (token.kind === "word") return token.text;
  const closing = close === undefined ? "" : `, or "${close}"`;
  throw configError(token.place, `${show(token)} is not a field's name; expected one${closing}.`);
}

/** `[package.extension]` or `[domain/package.Message]`. */
function parseExtension(tokens: TextTokens): string {
  let name = "";
  for (;;) {
    const token = tokens.next();
    if (token.kind === "mark" && token.text === "]") return `[${name}]`;
    const isPart = token.kind === "word" || (token.kind === "mark" && "/.-".includes(token.text));
    if (!isPart) throw configError(token.place, `${show(token)} is not part of an extension's name; expected "]".`);
    name += token.text;
  }
}

function parseValue(tokens: TextTokens, key: string, depth: number): ConfigNode {
  const token = tokens.next();
  tokens.countValue(token);
  if (depth >= MAX_CONFIG_DEPTH) throw configError(token.place, `"${key}" is nested deeper than ${MAX_CONFIG_DEPTH}.`);
  if (token.kind === "mark") {
    if (token.text === "{" || token.text === "<") {
      const close = token.text === "{" ? "}" : ">";
      return { kind: "map", place: token.place, entries: parseFields(tokens, close, depth + 1) };
    }
    if (token.text === "[") return { kind: "list", place: token.place, items: parseList(tokens, key, depth) };
  }
  return parseScalar(tokens, token, key);
}

function parseList(tokens: TextTokens, key: string, depth: number): ConfigNode[] {
  const items: ConfigNode[] = [];
  if (tokens.takeMark("]")) return items;
  for (;;) {
    items.push(parseValue(tokens, key, depth + 1));
    if (tokens.takeMark("]")) return items;
    const after = tokens.next();
    if (after.kind === "mark" && after.text === ",") continue;
    throw configError(after.place, `${show(after)} stands in the list of "${key}"; expected "," or "]".`);
  }
}

function parseScalar(tokens: TextTokens, token: TextToken, key: string): ConfigScalar {
  const { kind, text, place } = token;
  if (kind === "string") return joinTexts(tokens, token);
  if (kind === "word") return wordOf(token, 1);
  if (kind === "number") return { kind: "scalar", place, value: numberOf(text, 1), text };
  if (kind === "mark" && text === "-") {
    const next = tokens.next();
    if (next.kind === "number") return { kind: "scalar", place, value: numberOf(next.text, -1), text: `-${next.text}` };
    if (next.kind === "word" && INFINITY.test(next.text)) return wordOf(next, -1);
    throw configError(next.place, `${show(next)} stands behind "-"; expected a number.`);
  }
  throw configError(place, `${show(token)} is not a value of "${key}"; expected a text in quotes, a number or "{".`);
}

/** Texts side by side are one. */
function joinTexts(tokens: TextTokens, first: TextToken): ConfigScalar {
  let value = first.text;
  while (tokens.peek().kind === "string") value += tokens.next().text;
  return { kind: "scalar", place: first.place, value, text: value };
}

const INFINITY = /^inf(?:inity)?f?$/i;

function wordOf({ text, place }: TextToken, sign: 1 | -1): ConfigScalar {
  if (INFINITY.test(text)) return { kind: "scalar", place, value: sign * Number.POSITIVE_INFINITY, text };
  if (/^(?:true|True|t)$/.test(text)) return { kind: "scalar", place, value: true, text };
  if (/^(?:false|False|f)$/.test(text)) return { kind: "scalar", place, value: false, text };
  return { kind: "scalar", place, value: text, text, isWord: true };
}

/** An integer as bigint, in the base of its prefix: 0x for 16, otherwise 0 for 8. */
function numberOf(text: string, sign: 1 | -1): number | bigint {
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`) * BigInt(sign);
  if (/^(?:0[xX][\dA-Fa-f]+|\d+)$/.test(text)) return BigInt(text) * BigInt(sign);
  return Number.parseFloat(text) * sign;
}

function show({ kind, text }: TextToken): string {
  return kind === "end" ? text : JSON.stringify(text);
}

/** One token of protobuf's text format. */
interface TextToken {
  readonly kind: "word" | "number" | "string" | "mark" | "end";
  /** As written; of a string its value, its escapes resolved. */
  readonly text: string;
  readonly place: Place;
}

/** Spaces, or a comment. */
const SPACE = /[ \t\r\n\v\f]+|#[^\n]*/y;
const TOKEN =
  /(?<word>[A-Za-z_]\w*)|(?<number>0[xX][\dA-Fa-f]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fF]?)|(?<quote>["'])|(?<mark>[{}<>[\]:;,\-/.])/y;
/** Parts of a text in quotes. One pattern for the whole would overflow V8's stack if a text has many escapes. */
const PART = { '"': /[^"\\\n]+|\\[^\n]/y, "'": /[^'\\\n]+|\\[^\n]/y } as const;

/** Splits protobuf's text format into tokens, without comments; throws `invalid_argument` for an invalid one. */
class TextTokens {
  readonly #text: string;
  readonly #places: TextPlaces;
  #position = 0;
  #values = 0;
  /** Looked at, but not taken. */
  #ahead: TextToken;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#places = new TextPlaces(text, file);
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

  /** Takes the next token if it is one of these marks. */
  takeMark(...marks: readonly string[]): TextToken | undefined {
    return this.#ahead.kind === "mark" && marks.includes(this.#ahead.text) ? this.next() : undefined;
  }

  #read(): TextToken {
    this.#skipSpace();
    const place = this.#places.at(this.#position);
    if (this.#position === this.#text.length) return { kind: "end", text: "the end of the file", place };
    TOKEN.lastIndex = this.#position;
    const { word, number, quote, mark } = TOKEN.exec(this.#text)?.groups ?? {};
    this.#position += (word ?? number ?? quote ?? mark ?? "").length;
    if (word !== undefined) return { kind: "word", text: word, place };
    if (number !== undefined) return { kind: "number", text: this.#checkNumber(number, place), place };
    if (quote !== undefined) return { kind: "string", text: this.#readText(quote as '"' | "'", place), place };
    if (mark !== undefined) return { kind: "mark", text: mark, place };
    throw configError(place, this.#stray());
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#position;
    while (SPACE.test(this.#text)) this.#position = SPACE.lastIndex;
  }

  /** `10abc` is neither a number nor a word. */
  #checkNumber(number: string, place: Place): string {
    const after = this.#text[this.#position] ?? "";
    if (!/\w/.test(after)) return number;
    throw configError(place, `"${number}${after}" is not a number; put a space, or quotes around a text.`);
  }

  /** The value of a text whose opening quote was read. */
  #readText(quote: keyof typeof PART, place: Place): string {
    const part = PART[quote];
    const start = this.#position;
    part.lastIndex = start;
    while (part.test(this.#text)) this.#position = part.lastIndex;
    if (this.#text[this.#position] !== quote)
      throw configError(place, "A text has no closing quote on its line; expected one.");
    return unescapeText(this.#text.slice(start, this.#position++), place);
  }

  #stray(): string {
    const found = String.fromCodePoint(this.#text.codePointAt(this.#position) as number);
    return `${JSON.stringify(found)} has no meaning here; expected a field's name, or a text in quotes.`;
  }
}

const ESCAPE = /\\(?:([abfnrtv?\\'"])|([0-7]{1,3})|[xX]([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|([\s\S]))/g;
const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const MAX_CODE_POINT = 0x10ffff;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Resolves the escapes of a text of protobuf's text format, whose octal and hexadecimal ones are bytes of UTF-8. Throws
 * `invalid_argument` for an unknown one.
 */
function unescapeText(raw: string, place: Place): string {
  if (!raw.includes("\\")) return raw;
  // No byte of an escape takes less room where it is written.
  const bytes = Buffer.alloc(Buffer.byteLength(raw));
  let [length, end] = [0, 0];
  for (const match of raw.matchAll(ESCAPE)) {
    length += bytes.write(raw.slice(end, match.index), length);
    const escaped = unescapeOne(match, place);
    bytes.set(escaped, length);
    length += escaped.length;
    end = match.index + match[0].length;
  }
  length += bytes.write(raw.slice(end), length);
  try {
    return utf8.decode(bytes.subarray(0, length));
  } catch {
    throw configError(place, "A text's escapes are not valid UTF-8; expected text, not binary data.");
  }
}

function unescapeOne([written, letter, octal, hex, short, long]: RegExpExecArray, place: Place): Uint8Array {
  if (letter !== undefined) return Buffer.from(LETTERS[letter] ?? letter);
  if (octal !== undefined) return byteOf(Number.parseInt(octal, 8), written, place);
  if (hex !== undefined) return byteOf(Number.parseInt(hex, 16), written, place);
  const code = Number.parseInt(short ?? long ?? "", 16);
  if (code <= MAX_CODE_POINT) return Buffer.from(String.fromCodePoint(code));
  throw unknownEscape(written, place);
}

function byteOf(byte: number, written: string, place: Place): Uint8Array {
  if (byte <= 0xff) return Uint8Array.of(byte);
  throw unknownEscape(written, place);
}

function unknownEscape(written: string, place: Place) {
  return configError(place, `A text has the escape ${written}, which does not exist; write a backslash as \\\\.`);
}
