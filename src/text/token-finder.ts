import { invalidArgument } from "../errors.ts";
import { LongWork } from "../platform/limits/long-work.ts";
import { alignTexts } from "./align-texts.ts";
import { createNormalizer, type Normalizer, type Section } from "./normalizers.ts";
import { createPreTokenizer, type Piece, type PreTokenizer } from "./pre-tokenizers.ts";
import { type LocatedToken, TokenModel } from "./token-model.ts";
import { type Config, type TokenizerJson, type TokenizersLibrary, tokenText } from "./tokenizer-files.ts";

/** Characters that are normalised without a pause. Longer texts are cut before a space, or here. */
const SECTION = 16_384;
/** Characters before the end of a section in which a space is looked for. */
const REACH = 4096;
/** Tokens that are kept of a text of which only the last ones are needed, besides these. */
const KEPT = 65_536;
/** Tokens between two looks at the clock. */
const LOOKS = 256;

/** Characters of texts together that become no tokens, as spaces do: finding that out takes half a second. */
const MAX_IDLE = 4 * 1024 * 1024;
/** Characters that a token may stand for: far more than a word has. */
const MOST_OF_TOKEN = 64;

/** A place within a section. */
const WITHIN: Section = { isFirst: false, begins: false, ends: false };

/** Tokens of a text, special ones only as far as the text names them. */
export interface FoundTokens {
  readonly ids: number[];
  /** Ranges in the text, in UTF-16 units: empty if they were not asked for. */
  readonly starts: number[];
  readonly ends: number[];
}

/** Choices for the tokens of one text. */
export interface Finding {
  /** Stops once there are more tokens than this. */
  readonly most?: number;
  /** Finds at least these last ones, if the others are not needed. */
  readonly last?: number;
  /** The turns of several texts together. */
  readonly turns?: Turns;
  /** Finds their ranges too. */
  readonly offsets?: boolean;
  readonly signal?: AbortSignal;
  /** The text's name in errors. Default `0`. */
  readonly name?: string;
}

/** A part of a text: one that is a token as a whole, or one that is to be cut. */
interface TextPart {
  readonly text: string;
  readonly start: number;
  readonly id?: number;
}

/** Finds the tokens of texts. A long text is worked on in turns of the event loop. */
export class TokenFinder {
  readonly model: TokenModel;
  readonly #normalize: Normalizer;
  readonly #preTokenize: PreTokenizer;
  readonly #added: AddedTokens;
  readonly #addedNormalized: AddedTokens;
  readonly #trimsOffsets: boolean;
  readonly #keepsFirst: boolean;

  /** Throws `failed_precondition` for a tokenizer with parts that are not known. */
  constructor(json: TokenizerJson, config: Config, library: TokenizersLibrary) {
    this.#normalize = createNormalizer(json.normalizer, library);
    this.#preTokenize = createPreTokenizer(json.pre_tokenizer, library);
    const isNormalized = ({ normalized, special }: Config) => normalized ?? special !== true;
    this.#added = new AddedTokens(json.added_tokens.filter((token) => !isNormalized(token)));
    const whole = { isFirst: true, begins: true, ends: true };
    this.#addedNormalized = new AddedTokens(
      json.added_tokens.filter(isNormalized).map((token) => ({
        ...token,
        content: this.#normalize(String(token.content), whole),
      })),
    );
    const post = JSON.stringify(json.post_processor ?? null);
    this.#trimsOffsets = post.includes('"trim_offsets":true');
    this.#keepsFirst = post.includes('"add_prefix_space":true');
    this.model = new TokenModel(json, config, library);
  }

  /** Throws `invalid_argument` for a half of a surrogate pair, and for too much that becomes no tokens. */
  async find(
    text: string,
    { most = Number.POSITIVE_INFINITY, last, offsets = false, signal, turns = new Turns(signal), name = "0" }: Finding,
  ): Promise<FoundTokens> {
    const tokens: FoundTokens = { ids: [], starts: [], ends: [] };
    for (let start = 0; start < text.length && tokens.ids.length <= most; ) {
      if (turns.isOver()) await turns.next();
      const end = sectionEnd(text, start);
      const half = text.slice(start, end).search(/\p{Cs}/u);
      if (half !== -1)
        throw invalidArgument(
          `Text ${name} has half of a surrogate pair at ${start + half}; expected well-formed Unicode.`,
        );
      const isFirst = start === 0;
      const before = tokens.ids.length;
      const section = { isFirst, begins: isFirst, ends: end === text.length };
      for (const token of this.#findIn({ text: text.slice(start, end), start }, section, offsets)) {
        tokens.ids.push(token.id);
        if (offsets) tokens.starts.push(token.start);
        if (offsets) tokens.ends.push(token.end);
        if (tokens.ids.length > most) break;
        if (tokens.ids.length % LOOKS === 0 && turns.isOver()) await turns.next();
      }
      if (tokens.ids.length <= most) turns.count(end - start, tokens.ids.length - before, name);
      if (last !== undefined && tokens.ids.length > last + KEPT) dropFirst(tokens, last + 1);
      start = end;
    }
    if (offsets && this.#trimsOffsets) trimRanges(text, tokens, this.#keepsFirst);
    return tokens;
  }

  *#findIn(whole: TextPart, section: Section, offsets: boolean): Generator<LocatedToken> {
    for (const part of this.#added.split(whole)) {
      const partEnd = part.start + part.text.length;
      if (part.id !== undefined) {
        yield { id: part.id, start: part.start, end: partEnd };
        continue;
      }
      const [atStart, atEnd] = [part.start === whole.start, partEnd === whole.start + whole.text.length];
      const place = {
        isFirst: section.isFirst && atStart,
        begins: section.begins || !atStart,
        ends: section.ends || !atEnd,
      };
      const normalized = this.#normalize(part.text, place);
      const align = offsets ? alignTexts(part.text, normalized, (text) => this.#normalize(text, WITHIN)) : undefined;
      for (const token of this.#cut(normalized, place, offsets)) {
        const [start, end] = align?.(token.start, token.end) ?? [0, 0];
        yield { id: token.id, start: part.start + start, end: part.start + end };
      }
    }
  }

  *#cut(normalized: string, section: Section, offsets: boolean): Generator<LocatedToken> {
    for (const { text, start, id } of this.#addedNormalized.split({ text: normalized, start: 0 })) {
      if (id !== undefined) {
        yield { id, start, end: start + text.length };
        continue;
      }
      const piece: Piece = { text, start, end: start + text.length, lead: 0 };
      for (const cut of this.#preTokenize([piece], section)) {
        if (offsets) yield* this.model.place(cut);
        else for (const id of this.model.encode(cut.text).ids) yield { id, start: 0, end: 0 };
      }
    }
  }
}

/** One more than is needed shows that the text was cut. */
function dropFirst({ ids, starts, ends }: FoundTokens, kept: number): void {
  for (const list of [ids, starts, ends]) list.splice(0, Math.max(0, list.length - kept));
}

/** The turns of the event loop that long texts, or many, take. */
export class Turns extends LongWork {
  #idle = 0;

  /** Counts what a part of a text has become; throws `invalid_argument` once too much has become no tokens. */
  count(characters: number, tokens: number, name: string): void {
    this.#idle += Math.max(0, characters - MOST_OF_TOKEN * tokens);
    if (this.#idle <= MAX_IDLE) return;
    throw invalidArgument(
      `Up to text ${name} there are more than ${MAX_IDLE} characters that become no tokens, as spaces do; expected words.`,
    );
  }
}

/** The end of the section that begins there: before a space with a word in front of it, if there is one near. */
function sectionEnd(text: string, start: number): number {
  const end = start + SECTION;
  if (end >= text.length) return text.length;
  for (let at = end; at > end - REACH; at--)
    if (text[at] === " " && text[at - 1] !== " " && text[at + 1] !== " ") return at;
  return isLowSurrogate(text, end) ? end - 1 : end;
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * Leaves the spaces out that words of byte-level tokenizers begin with; no other white space, as Rust has it, and with
 * `keepsFirst` not a single one at the beginning of the text.
 */
function trimRanges(text: string, { starts, ends }: FoundTokens, keepsFirst: boolean): void {
  const isSpace = (at: number) => text[at] === " ";
  for (let index = 0; index < starts.length; index++) {
    const [start, end] = [starts[index] ?? 0, ends[index] ?? 0];
    let [from, to] = [start, end];
    while (from < end && isSpace(from)) from++;
    while (to > start && isSpace(to - 1)) to--;
    if (start === 0 && from === 1 && keepsFirst) from = 0;
    starts[index] = from;
    ends[index] = Math.max(from, to);
  }
}

interface AddedToken {
  readonly id: number;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly single: boolean;
}

/** Tokens that are looked for in a text before anything else is done with it: the longest at the first place. */
class AddedTokens {
  readonly #byText = new Map<string, AddedToken>();
  readonly #pattern: RegExp | undefined;

  constructor(tokens: readonly Config[]) {
    for (const token of tokens) {
      const { lstrip, rstrip, single_word: single } = token;
      const content = tokenText(token) ?? "";
      const flags = { lstrip: lstrip === true, rstrip: rstrip === true, single: single === true };
      if (content !== "") this.#byText.set(content, { id: Number(token.id), ...flags });
    }
    const texts = [...this.#byText.keys()].sort((one, other) => other.length - one.length);
    const escaped = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
    if (escaped.length > 0) this.#pattern = new RegExp(escaped.join("|"), "gu");
  }

  split(whole: TextPart): readonly TextPart[] {
    if (this.#pattern === undefined) return whole.text === "" ? [] : [whole];
    const { text, start } = whole;
    const parts: TextPart[] = [];
    let end = 0;
    for (const { 0: content, index } of text.matchAll(this.#pattern)) {
      const token = this.#byText.get(content);
      if (token === undefined || index < end || (token.single && !isAlone(text, index, content.length))) continue;
      const range = { from: index, to: index + content.length };
      if (token.lstrip) while (range.from > end && isSpaceAt(text, range.from - 1)) range.from--;
      if (token.rstrip) while (isSpaceAt(text, range.to)) range.to++;
      if (range.from > end) parts.push({ text: text.slice(end, range.from), start: start + end });
      parts.push({ text: text.slice(range.from, range.to), start: start + range.from, id: token.id });
      end = range.to;
    }
    if (end < text.length) parts.push({ text: text.slice(end), start: start + end });
    return parts;
  }
}

function isSpaceAt(text: string, at: number): boolean {
  return /\p{White_Space}/u.test(text[at] ?? "");
}

function isAlone(text: string, index: number, length: number): boolean {
  const isWord = (character: string | undefined) => /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]/u.test(character ?? "");
  return !isWord(text[index - 1]) && !isWord(text[index + length]);
}
