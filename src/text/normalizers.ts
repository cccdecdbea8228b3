import { failedPrecondition } from "../errors.ts";
import { isObject } from "../tensor/record.ts";
import { type Config, type TokenizersLibrary, unsupportedPart } from "./tokenizer-files.ts";

/** The place of a section: of a long text, between tokens that it names. */
export interface Section {
  /** True at the beginning of the text. */
  readonly isFirst: boolean;
  /** True at the beginning of the text, or behind a token. */
  readonly begins: boolean;
  /** True at the end of the text, or before a token. */
  readonly ends: boolean;
}

/** Changes a text before it is cut into pieces. */
export type Normalizer = (text: string, section: Section) => string;

type Make = (config: Config, library: TokenizersLibrary) => Normalizer;

/**
 * The normalizers of `tokenizer.json` by type. They are written here, since those of the JavaScript library differ from
 * the original's in Chinese beyond the basic plane, in a final sigma and in every charsmap; patterns are its work.
 */
const NORMALIZERS: Readonly<Record<string, Make>> = {
  BertNormalizer: bert,
  Lowercase: () => lowercase,
  NFC: () => (text) => toForm(text, "NFC"),
  NFD: () => (text) => toForm(text, "NFD"),
  NFKC: () => (text) => toForm(text, "NFKC"),
  NFKD: () => (text) => toForm(text, "NFKD"),
  Nmt: () => (text) => text.replace(/\p{Cc}/gu, keepControl).replace(NMT_SPACES, " "),
  Precompiled: precompiled,
  Prepend: (config) => {
    const prefix = String(config.prepend ?? "");
    return (text, { begins }) => (begins && text !== "" ? prefix + text : text);
  },
  Replace: replace,
  Sequence: (config, library) => {
    const parts = listOf(config.normalizers).map((part) => createNormalizer(part, library));
    return (text, section) => parts.reduce((changed, part) => part(changed, section), text);
  },
  Strip:
    (config) =>
    (text, { begins, ends }) => {
      const left = config.strip_left !== false && begins ? text.replace(/^\p{White_Space}+/u, "") : text;
      return config.strip_right !== false && ends ? trimEnd(left) : left;
    },
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ""),
};

/** The normalizer of a tokenizer; throws `failed_precondition` for a type that is not known. */
export function createNormalizer(config: unknown, library: TokenizersLibrary): Normalizer {
  if (config === null || config === undefined) return (text) => text;
  const type = isObject(config) ? config.type : config;
  const known = typeof type === "string" && Object.hasOwn(NORMALIZERS, type) ? NORMALIZERS[type] : undefined;
  if (known === undefined || !isObject(config)) throw unsupportedPart("normalizer", type, Object.keys(NORMALIZERS));
  return known(config, library);
}

/** The elements of a list; none of any other value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * The pattern of a part of `tokenizer.json`: a text, or a regular expression of Oniguruma, which the library
 * translates. Throws `failed_precondition` for one that it cannot.
 */
export function patternOf(pattern: unknown, { SplitPreTokenizer }: TokenizersLibrary): RegExp {
  const { String: text, Regex: regex } = isObject(pattern) ? pattern : {};
  if (typeof text === "string") return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gu");
  if (typeof regex !== "string") throw failedPrecondition("tokenizer.json has a pattern without String or Regex.");
  try {
    const split = new SplitPreTokenizer({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated" });
    if (split.pattern !== null) return split.pattern;
  } catch (reason) {
    throw failedPrecondition(`tokenizer.json has a pattern that cannot be used: ${regex.slice(0, 200)}`, reason);
  }
  throw failedPrecondition(`tokenizer.json has a pattern that cannot be used: ${regex.slice(0, 200)}`);
}

/** Combining marks of one run that are put in order together: ICU takes a time that grows with the square of them. */
const MOST_MARKS = 1024;

/**
 * A normal form of Unicode. Runs of more than 1024 combining marks are ordered in parts, as the stream-safe text format
 * of UAX #15 does with runs of 30.
 */
function toForm(text: string, form: "NFC" | "NFD" | "NFKC" | "NFKD"): string {
  if (text.length <= MOST_MARKS) return text.normalize(form);
  const parts: string[] = [];
  let start = 0;
  for (const { 0: run, index } of text.matchAll(/\p{M}+/gu)) {
    for (let at = index + MOST_MARKS; at < index + run.length; at += MOST_MARKS) {
      parts.push(text.slice(start, at).normalize(form));
      start = at;
    }
  }
  parts.push(text.slice(start).normalize(form));
  return parts.join("");
}

/** Each character by itself, as in Rust: a final sigma becomes σ. */
function lowercase(text: string): string {
  return text.replaceAll("Σ", "σ").toLowerCase();
}

/** Not by a pattern: one that ends in `$` takes a time that grows with the square of the spaces. */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /\p{White_Space}/u.test(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}

const BERT_DROPPED = /(?![\t\n\r])[\ufffd\p{Cc}\p{Cf}\p{Co}]/gu;
const BERT_CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;

function bert(config: Config): Normalizer {
  const { clean_text: clean, handle_chinese_chars: chinese, lowercase: lower } = config;
  const strips = config.strip_accents ?? lower;
  return (text) => {
    let changed = text;
    if (clean) changed = changed.replace(BERT_DROPPED, "").replace(/\p{White_Space}/gu, " ");
    if (chinese) changed = changed.replace(BERT_CHINESE, " $& ");
    if (strips) changed = toForm(changed, "NFD").replace(/\p{Mn}/gu, "");
    return lower ? lowercase(changed) : changed;
  };
}

/** Control characters that are no spaces, and that Nmt leaves out; those of C1 stay, but two. */
function keepControl(control: string): string {
  const code = control.charCodeAt(0);
  if (code === 0 || "\t\n\f\r".includes(control)) return control;
  return code < 0x80 || code === 0x8f || code === 0x9f ? "" : control;
}

const NMT_SPACES = /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g;

function replace(config: Config, library: TokenizersLibrary): Normalizer {
  const pattern = patternOf(config.pattern, library);
  const content = String(config.content ?? "");
  return (text) => text.replace(pattern, () => content);
}

function precompiled(config: Config): Normalizer {
  const { precompiled_charsmap: encoded } = config;
  if (typeof encoded !== "string" || encoded === "") return (text) => text;
  const map = new CharsMap(Buffer.from(encoded, "base64"));
  return (text) => map.replace(text);
}

/** Bytes of a character that is looked up as a whole, in tokenizers' implementation. */
const MOST_BYTES = 6;
/** Characters whose replacements are kept. */
const MOST_GRAPHEMES = 10_000;

/**
 * SentencePiece's table of normalisations: a double-array trie of Darts, whose values are places of texts behind it.
 * https://github.com/google/sentencepiece/blob/master/src/normalizer.cc, https://github.com/s-yata/darts-clone
 */
class CharsMap {
  readonly #units: Uint32Array;
  readonly #texts: Buffer;
  readonly #graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
  readonly #kept = new Map<string, string>();

  /** Throws `failed_precondition` for bytes that are no such table. */
  constructor(bytes: Buffer) {
    const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
    if (size === 0 || size % 4 !== 0 || size + 4 > bytes.length)
      throw failedPrecondition("tokenizer.json has a precompiled_charsmap that is damaged; download it again.");
    this.#units = new Uint32Array(size / 4);
    for (let index = 0; index < this.#units.length; index++) this.#units[index] = bytes.readUInt32LE(4 + 4 * index);
    this.#texts = bytes.subarray(4 + size);
  }

  /** The text with each grapheme replaced, or else each of its characters, as far as the table has them. */
  replace(text: string): string {
    let replaced = "";
    for (const { segment } of this.#graphemes.segment(text)) replaced += this.#replaceGrapheme(segment);
    return replaced;
  }

  #replaceGrapheme(grapheme: string): string {
    const kept = this.#kept.get(grapheme);
    if (kept !== undefined) return kept;
    const whole = Buffer.byteLength(grapheme) < MOST_BYTES ? this.#find(grapheme) : undefined;
    const replaced = whole ?? Array.from(grapheme, (character) => this.#find(character) ?? character).join("");
    if (this.#kept.size < MOST_GRAPHEMES && grapheme.length < 16) this.#kept.set(grapheme, replaced);
    return replaced;
  }

  /** The replacement of the shortest beginning that the trie has, as the original takes it for the whole. */
  #find(key: string): string | undefined {
    let node = offsetOf(this.#units[0] ?? 0);
    for (const byte of Buffer.from(key)) {
      if (byte === 0) return undefined;
      node ^= byte;
      const unit = this.#units[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== byte) return undefined;
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) return this.#textAt((this.#units[node] ?? 0) & 0x7fffffff);
    }
    return undefined;
  }

  #textAt(start: number): string {
    const end = this.#texts.indexOf(0, start);
    return this.#texts.toString("utf8", start, end === -1 ? this.#texts.length : end);
  }
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
