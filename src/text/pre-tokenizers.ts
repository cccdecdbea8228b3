import { isObject } from "../tensor/record.ts";
import { listOf, patternOf, type Section } from "./normalizers.ts";
import { type Config, type TokenizersLibrary, unsupportedPart } from "./tokenizer-files.ts";

/** A part of a normalised text that is cut into tokens by itself. */
export interface Piece {
  /** As the model takes it: spaces may be other characters, and each byte of UTF-8 may be a character. */
  readonly text: string;
  /** Its range in the normalised text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Characters at its beginning that the normalised text does not have. */
  readonly lead: number;
  /** Present if each character stands for a byte of UTF-8: those that stand there in the normalised text. */
  readonly source?: string;
}

/** Cuts pieces into smaller ones. */
export type PreTokenizer = (pieces: readonly Piece[], section: Section) => readonly Piece[];

type Make = (config: Config, library: TokenizersLibrary) => PreTokenizer;
type Behaviour = "removed" | "isolated" | "contiguous" | "mergedwithprevious" | "mergedwithnext";

const SPACE = /\p{White_Space}/gu;
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/gu;
const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;
/** GPT-2's words: https://github.com/openai/gpt-2/blob/master/src/encoder.py */
const GPT2_WORDS =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/**
 * The pre-tokenizers of `tokenizer.json` by type. They are written here, since they have to say which part of the text
 * each piece is, and since those of the JavaScript library know words of ASCII alone and two of the five behaviours.
 */
const PRE_TOKENIZERS: Readonly<Record<string, Make>> = {
  BertPreTokenizer: () => inTurn([splitting(SPACE, "removed"), splitting(PUNCTUATION, "isolated")]),
  ByteLevel: byteLevel,
  CharDelimiterSplit: (config, library) => splitting(patternOf({ String: config.delimiter }, library), "removed"),
  Digits: (config) => splitting(/\p{N}/gu, config.individual_digits === true ? "isolated" : "contiguous"),
  Metaspace: metaspace,
  Punctuation: (config) => splitting(PUNCTUATION, behaviourOf(config)),
  Sequence: (config, library) => inTurn(listOf(config.pretokenizers).map((part) => createPreTokenizer(part, library))),
  Split: (config, library) =>
    splitting(patternOf(config.pattern, library), behaviourOf(config), config.invert === true),
  Whitespace: () => splitting(WORDS, "removed", true),
  WhitespaceSplit: () => splitting(SPACE, "removed"),
};

/** The pre-tokenizer of a tokenizer; throws `failed_precondition` for a type that is not known. */
export function createPreTokenizer(config: unknown, library: TokenizersLibrary): PreTokenizer {
  if (config === null || config === undefined) return (pieces) => pieces;
  const type = isObject(config) ? config.type : config;
  const known = typeof type === "string" && Object.hasOwn(PRE_TOKENIZERS, type) ? PRE_TOKENIZERS[type] : undefined;
  if (known === undefined || !isObject(config))
    throw unsupportedPart("pre_tokenizer", type, Object.keys(PRE_TOKENIZERS));
  return known(config, library);
}

function inTurn(parts: readonly PreTokenizer[]): PreTokenizer {
  return (pieces, section) => parts.reduce((cut, part) => part(cut, section), pieces);
}

function splitting(pattern: RegExp, behaviour: Behaviour, isInverted = false): PreTokenizer {
  return (pieces) => pieces.flatMap((piece) => splitPiece(piece, pattern, { behaviour, isInverted }));
}

const BEHAVIOURS: readonly Behaviour[] = ["removed", "isolated", "contiguous", "mergedwithprevious", "mergedwithnext"];

/** Files have them in two spellings: `MergedWithNext` and `merged_with_next`. */
function behaviourOf({ behavior = "Isolated" }: Config): Behaviour {
  const name = String(behavior).replaceAll("_", "").toLowerCase();
  const known = BEHAVIOURS.find((behaviour) => behaviour === name);
  if (known !== undefined) return known;
  throw unsupportedPart("behavior", behavior, BEHAVIOURS);
}

/** A range of a piece's text, and if the pattern has matched it. */
interface Part {
  readonly from: number;
  to: number;
  readonly isMatch: boolean;
}

interface Splitting {
  readonly behaviour: Behaviour;
  readonly isInverted: boolean;
}

function splitPiece(piece: Piece, pattern: RegExp, { behaviour, isInverted }: Splitting): Piece[] {
  const parts = partsOf(piece.text, pattern, isInverted);
  return joinParts(parts, behaviour).map(({ from, to }) => subPiece(piece, from, to));
}

function partsOf(text: string, pattern: RegExp, isInverted: boolean): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (found === "") continue;
    if (index > end) parts.push({ from: end, to: index, isMatch: isInverted });
    end = index + found.length;
    parts.push({ from: index, to: end, isMatch: !isInverted });
  }
  if (end < text.length) parts.push({ from: end, to: text.length, isMatch: isInverted });
  return parts;
}

function joinParts(parts: readonly Part[], behaviour: Behaviour): readonly Part[] {
  if (behaviour === "isolated") return parts;
  if (behaviour === "removed") return parts.filter(({ isMatch }) => !isMatch);
  const isForward = behaviour !== "mergedwithnext";
  const joined: Part[] = [];
  let before: boolean | undefined;
  for (const part of isForward ? parts : parts.toReversed()) {
    const last = joined.at(-1);
    const joins = behaviour === "contiguous" ? part.isMatch === before : part.isMatch && before === false;
    if (!joins || last === undefined) joined.push({ ...part });
    else if (isForward) last.to = part.to;
    else joined[joined.length - 1] = { ...last, from: part.from };
    before = part.isMatch;
  }
  return isForward ? joined : joined.reverse();
}

function subPiece({ text, start, lead }: Piece, from: number, to: number): Piece {
  const place = (at: number) => start + Math.max(0, at - lead);
  return {
    text: text.slice(from, to),
    start: place(from),
    end: place(to),
    lead: Math.max(0, Math.min(lead, to) - from),
  };
}

function metaspace(config: Config): PreTokenizer {
  const { replacement = "\u2581", add_prefix_space: prefixed, split = true } = config;
  const mark = String(replacement);
  const scheme = config.prepend_scheme ?? (prefixed === false ? "never" : "always");
  const pattern = new RegExp(mark.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gu");
  return (pieces, { isFirst }) =>
    pieces.flatMap((piece) => {
      const text = piece.text.replaceAll(" ", mark);
      const isLed =
        !text.startsWith(mark) && (scheme === "always" || (scheme === "first" && isFirst && piece.start === 0));
      const marked = isLed ? { ...piece, text: mark + text, lead: piece.lead + 1 } : { ...piece, text };
      return split === false ? marked : splitPiece(marked, pattern, { behaviour: "mergedwithnext", isInverted: false });
    });
}

function byteLevel({ add_prefix_space: prefixed = true, use_regex: cuts = true }: Config): PreTokenizer {
  const split = splitting(GPT2_WORDS, "isolated");
  const lead = (piece: Piece) =>
    prefixed === true && !piece.text.startsWith(" ")
      ? { ...piece, text: ` ${piece.text}`, lead: piece.lead + 1 }
      : piece;
  return (pieces, section) => {
    const led = pieces.map(lead);
    return (cuts === false ? led : split(led, section)).map((piece) => ({
      ...piece,
      text: toByteText(piece.text),
      source: piece.text,
    }));
  };
}

/** GPT-2's characters for the 256 bytes: those that can be seen are themselves, the others follow from U+0100 on. */
const BYTE_CHARACTERS = byteCharacters();

function byteCharacters(): readonly string[] {
  let hidden = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isSeen = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(isSeen ? byte : hidden++);
  });
}

function toByteText(text: string): string {
  let bytes = "";
  for (const byte of Buffer.from(text)) bytes += BYTE_CHARACTERS[byte];
  return bytes;
}
