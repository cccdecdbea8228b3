import { invalidArgument } from "../errors.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Choices for the parts of a long text. */
export interface SplitOptions {
  /** Tokens of a part at most, special ones included. Default: {@link Tokenizer.maxTokens}. */
  readonly maxTokens?: number;
  /** Tokens that a part has in common with the one before it. Default 0. */
  readonly overlap?: number;
  /** Ends the work. */
  readonly signal?: AbortSignal;
}

/** A part of a text. */
export interface TextPart {
  readonly text: string;
  /** Its range in the whole, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/** Ends of parts, the best first: of a paragraph, of a line, of a sentence, of a word. */
const ENDS = [/\n\s*\n\s*$/, /\n\s*$/, /[.!?。！？؟।]["'”’)\]]*\s*$/u, /\s$/];
/** Characters before a place that tell what ends there. */
const LOOK = 16;

/**
 * Splits a text into parts that a model takes: at the end of a paragraph if there is one in the second half of a part,
 * else of a line, a sentence, a word, else between two tokens. Works on long texts in turns of the event loop. Throws
 * `invalid_argument` without a number of tokens, or if parts would not go on.
 */
export async function splitText(tokenizer: Tokenizer, text: string, options: SplitOptions = {}): Promise<TextPart[]> {
  const { maxTokens = tokenizer.maxTokens, overlap = 0, signal } = options;
  if (maxTokens === undefined)
    throw invalidArgument("The tokenizer does not say how many tokens the model takes; give maxTokens.");
  const special = await tokenizer.count("");
  const room = maxTokens - special;
  if (room < 1 || overlap < 0 || overlap >= room)
    throw invalidArgument(`Parts of ${maxTokens} tokens, ${special} of them special, cannot overlap by ${overlap}.`);
  const { starts, ends } = await tokenizer.findRanges(text, signal);
  const parts: TextPart[] = [];
  for (let first = 0; first < starts.length; ) {
    let last = lastToken(text, { starts, ends, first }, room);
    let part = partOf(text, starts[first] ?? 0, ends[last] ?? text.length);
    // A part by itself may have other tokens than within its text.
    for (let count = await tokenizer.count(part.text); count > maxTokens && last > first; ) {
      last = Math.max(first, last - (count - maxTokens));
      part = partOf(text, starts[first] ?? 0, ends[last] ?? text.length);
      count = await tokenizer.count(part.text);
    }
    parts.push(part);
    if (last === starts.length - 1) break;
    first = Math.max(first + 1, last + 1 - overlap);
  }
  return parts;
}

function partOf(text: string, start: number, end: number): TextPart {
  return { text: text.slice(start, end), start, end };
}

interface Ranges {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly first: number;
}

/** The last token of a part that begins with `first` and has `room` tokens at most. */
function lastToken(text: string, { starts, first }: Ranges, room: number): number {
  const most = first + room - 1;
  if (most >= starts.length - 1) return starts.length - 1;
  const before = (token: number) => {
    const next = starts[token + 1] ?? text.length;
    return text.slice(Math.max(starts[first] ?? 0, next - LOOK), next);
  };
  for (const end of ENDS)
    for (let token = most; token >= first + Math.floor(room / 2); token--) if (end.test(before(token))) return token;
  return most;
}
