import type { Piece } from "./pre-tokenizers.ts";
import {
  type Config,
  type LibraryModel,
  type LibraryTokenizer,
  type TokenizerJson,
  type TokenizersLibrary,
  unsupportedPart,
} from "./tokenizer-files.ts";

/** A token with its range in the normalised text, in UTF-16 units. */
export interface LocatedToken {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

/** The tokens of a piece, and the range of it that each has, in UTF-16 units. */
interface PieceTokens {
  readonly ids: readonly number[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Pieces whose tokens are kept, each of this length at most. */
const MOST_KEPT = 20_000;
const KEPT_LENGTH = 48;

const TYPES = ["BPE", "Unigram", "WordPiece"];

/**
 * The model of a tokenizer, which cuts pieces into tokens. The JavaScript library does that; characters that the
 * vocabulary does not have are treated here, as Rust's `tokenizers` treats them.
 */
export class TokenModel {
  /** The library's tokenizer, which decodes. */
  readonly library: LibraryTokenizer;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #encode: (piece: string) => PieceTokens;
  readonly #kept = new Map<string, PieceTokens>();
  readonly #unknown: number | undefined;
  readonly #fuses: boolean;
  readonly #falls: boolean;
  /** Units of the longest token. */
  #longest = 0;

  constructor(json: TokenizerJson, config: Config, library: TokenizersLibrary) {
    const parts = {
      ...json,
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: json.decoder ?? null,
    };
    this.library = new library.Tokenizer(parts, config);
    const { model } = this.library;
    this.#ids = model.tokens_to_ids;
    for (const token of this.#ids.keys()) this.#longest = Math.max(this.#longest, token.length);
    this.#unknown = model.unk_token_id ?? undefined;
    const { fuse_unk: fuses, byte_fallback: falls } = json.model;
    this.#falls = falls === true;
    if (model.max_input_chars_per_word !== undefined) this.#encode = (piece) => this.#ofWordPiece(model, piece);
    else if (model.tokenize !== undefined) this.#encode = (piece) => this.#ofParts(model.tokenize?.(piece) ?? []);
    else if (model.bpe !== undefined) this.#encode = (piece) => this.#ofBpe(model, piece);
    else throw unsupportedPart("model", json.model.type, TYPES);
    this.#fuses = fuses === true || model.tokenize !== undefined;
  }

  /** The number of a token; undefined if there is none of that name. */
  idOf(token: string): number | undefined {
    return this.#ids.get(token);
  }

  encode(piece: string): PieceTokens {
    if (piece.length > KEPT_LENGTH) return this.#encode(piece);
    const kept = this.#kept.get(piece);
    if (kept !== undefined) return kept;
    const tokens = this.#encode(piece);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    // V8 cuts a piece as a view of its section, which a key would keep alive.
    this.#kept.set(Buffer.from(piece, "utf16le").toString("utf16le"), tokens);
    return tokens;
  }

  /** The tokens of a piece with their ranges in the normalised text. */
  *place(piece: Piece): Generator<LocatedToken> {
    const { ids, starts, ends } = this.encode(piece.text);
    const places = piece.source === undefined ? undefined : bytePlaces(piece.source);
    const { start, lead, text } = piece;
    // A character that the text does not have belongs to the first that it has.
    const first = characterEnd(text, lead) - lead;
    for (const [index, id] of ids.entries()) {
      const [at, to] = [starts[index] ?? 0, ends[index] ?? 0];
      const [from, end] = places === undefined ? [at, to] : [places.starts[at] ?? 0, places.ends[to - 1] ?? 0];
      yield { id, start: start + Math.max(0, from - lead), end: start + (end <= lead ? first : end - lead) };
    }
  }

  #ofWordPiece(model: LibraryModel, piece: string): PieceTokens {
    const { max_input_chars_per_word: most = 100, config } = model;
    const { continuing_subword_prefix: prefix = "##" } = config;
    const tokens: { ids: number[]; starts: number[]; ends: number[] } = { ids: [], starts: [], ends: [] };
    const unknown = this.#ids.get(model.unk_token ?? "") ?? this.#unknown ?? 0;
    const whole = { ids: [unknown], starts: [0], ends: [piece.length] };
    // Each character has one or two units.
    if (piece.length > 2 * most || Array.from(piece).length > most) return whole;
    for (let start = 0; start < piece.length; ) {
      const led = start === 0 ? "" : String(prefix);
      let end = Math.min(piece.length, start + this.#longest);
      while (end > start && !this.#ids.has(led + piece.slice(start, end))) end--;
      if (end === start) return whole;
      tokens.ids.push(this.#ids.get(led + piece.slice(start, end)) ?? unknown);
      tokens.starts.push(start);
      tokens.ends.push(end);
      start = end;
    }
    return tokens;
  }

  #ofBpe(model: LibraryModel, piece: string): PieceTokens {
    const whole = this.#ids.get(piece);
    if (model.ignore_merges === true && whole !== undefined) return { ids: [whole], starts: [0], ends: [piece.length] };
    return this.#ofParts(model.bpe?.(piece) ?? [], model.end_of_word_suffix?.length);
  }

  /** `extra` is the length of what the last part has in addition to its characters. */
  #ofParts(parts: readonly string[], extra = 0): PieceTokens {
    const tokens: { ids: number[]; starts: number[]; ends: number[] } = { ids: [], starts: [], ends: [] };
    let start = 0;
    let isUnknown = false;
    for (const [index, part] of parts.entries()) {
      const end = start + part.length - (index === parts.length - 1 ? extra : 0);
      const known = this.#idsOf(part);
      if (known === undefined && isUnknown && this.#fuses) tokens.ends[tokens.ends.length - 1] = end;
      else
        for (const id of known ?? this.#unknownIds()) {
          tokens.ids.push(id);
          tokens.starts.push(start);
          tokens.ends.push(end);
        }
      isUnknown = known === undefined;
      start = end;
    }
    return tokens;
  }

  #unknownIds(): readonly number[] {
    return this.#unknown === undefined ? [] : [this.#unknown];
  }

  /** Undefined for a part that is unknown, and cannot be written as bytes either. */
  #idsOf(part: string): readonly number[] | undefined {
    const id = this.#ids.get(part);
    if (id !== undefined) return [id];
    if (!this.#falls) return undefined;
    const bytes = Array.from(Buffer.from(part), (byte) =>
      this.#ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
    );
    const found = bytes.filter((known) => known !== undefined);
    return found.length === bytes.length ? found : undefined;
  }
}

/** The end of the character that begins there. */
export function characterEnd(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

/** For each byte of a text in UTF-8 the start and end of its character, in UTF-16 units. */
function bytePlaces(text: string): { starts: readonly number[]; ends: readonly number[] } {
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of text) {
    const end = at + character.length;
    for (let byte = Buffer.byteLength(character); byte > 0; byte--) {
      starts.push(at);
      ends.push(end);
    }
    at = end;
  }
  return { starts, ends };
}
