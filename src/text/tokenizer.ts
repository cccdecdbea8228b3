import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";
import { type ChatMessage, ChatTemplate, type ChatTemplateOptions, type JinjaLibrary } from "./chat-template.ts";
import {
  type EncodedRow,
  type EncodedTexts,
  readSpecialTokens,
  type SpecialTokens,
  specialCount,
  textsAlone,
  toRow,
  toTensors,
} from "./encoded-texts.ts";
import { type FoundTokens, TokenFinder, Turns } from "./token-finder.ts";
import { readTokenizerFiles, type TokenizerFiles, type TokenizersLibrary } from "./tokenizer-files.ts";

/** A text, or two that belong together, such as a question and a document. */
export type TextInput = string | readonly [string, string];

/** Choices for the tokens of texts. */
export interface EncodeOptions {
  /** Tokens of a text at most, special ones included. Default: {@link Tokenizer.maxTokens}, if the files have it. */
  readonly maxTokens?: number;
  /** Tokens of the second text of a pair at most, before both are cut to fit. Default: any number. */
  readonly maxPairTokens?: number;
  /** The end of longer texts that is cut off, or `refuse`. Default: as the files say, else the right one. */
  readonly truncate?: "right" | "left" | "refuse";
  /** Length of all rows: that of the longest one, or a number of tokens. Default `longest`. */
  readonly padding?: "longest" | number;
  /** False leaves out special tokens such as `[CLS]`. Default true. */
  readonly specialTokens?: boolean;
  /** True finds {@link EncodedTexts.offsets} too. Default false. */
  readonly offsets?: boolean;
  /** Numbers of the texts in errors. Default: their places. */
  readonly indices?: readonly number[];
  /** Ends the work on long texts. */
  readonly signal?: AbortSignal;
}

/** Tokens of each text of a pair that are found besides those that there is room for. */
const PAIR_EXTRA = 16_384;

interface EncodeOne extends EncodeOptions {
  /** The text's number in errors. */
  readonly index: number;
  readonly turns: Turns;
  /** The first text of the last pair, which is often a query that all pairs have. */
  readonly last: { text?: string; found?: FoundTokens };
}

/** Turns texts into numbers of tokens, and these into texts, as a model's `tokenizer.json` says. */
export class Tokenizer {
  /**
   * Tokens of a text at most, special ones included: `max_seq_length` of sentence-transformers, else
   * `model_max_length`, and no more than the model has positions. Undefined if the files do not say.
   */
  readonly maxTokens: number | undefined;
  /** The special tokens by name: `pad_token`, `cls_token`, … */
  readonly specialTokens: ReadonlyMap<string, string>;
  readonly #files: TokenizerFiles;
  readonly #finder: TokenFinder;
  readonly #special: SpecialTokens;
  readonly #chat: ChatTemplate;

  /** Throws `failed_precondition` for files with parts that are not known. */
  constructor(files: TokenizerFiles, library: TokenizersLibrary, jinja?: JinjaLibrary) {
    const { json, config } = files;
    this.#files = files;
    this.specialTokens = files.specialTokens;
    this.#finder = new TokenFinder(json, config, library);
    this.#special = readSpecialTokens(json.post_processor, (token) => this.#finder.model.idOf(token));
    this.#chat = new ChatTemplate(files.chatTemplates, files.specialTokens, jinja);
    this.maxTokens = files.maxTokens;
  }

  /**
   * The tokens of texts, as tensors. Long texts are worked on in turns of the event loop. Throws `invalid_argument` for
   * values that are no text and for halves of surrogate pairs; with `refuse`, `out_of_range` for texts that are too
   * long.
   */
  async encode(texts: readonly TextInput[], options: EncodeOptions = {}): Promise<EncodedTexts> {
    const rows: EncodedRow[] = [];
    const turns = new Turns(options.signal);
    const last: EncodeOne["last"] = {};
    for (const [place, text] of texts.entries()) {
      const index = options.indices?.[place] ?? place;
      rows.push(await this.#encodeOne(checkText(text, index), { ...options, index, turns, last }));
    }
    const { padding = "longest", offsets = false } = options;
    const isLeft = this.#files.config.padding_side === "left";
    const minimum = padding === "longest" ? 0 : padding;
    return toTensors(rows, { minimum, isLeft, padId: this.#padId(), offsets });
  }

  /** The text of tokens. Special ones are left out unless `specialTokens` is true. */
  decode(
    ids: readonly number[] | BigInt64Array,
    { specialTokens = false }: { readonly specialTokens?: boolean } = {},
  ): string {
    const numbers = Array.from<number | bigint, number>(ids, Number);
    if (numbers.length === 0) return "";
    if (!numbers.every((id) => Number.isSafeInteger(id) && id >= 0))
      throw invalidArgument("The tokens to decode have numbers that are none; expected integers of 0 or more.");
    const { clean_up_tokenization_spaces: cleans = false } = this.#files.config;
    try {
      return this.#finder.model.library.decode(numbers, {
        skip_special_tokens: !specialTokens,
        clean_up_tokenization_spaces: cleans === true,
      });
    } catch (reason) {
      throw invalidArgument(`The tokens cannot be decoded, of which the vocabulary may not have all.`, reason);
    }
  }

  /** Number of a text's tokens, with the special ones that are added unless `specialTokens` is false. */
  async count(text: TextInput, { specialTokens = true, signal }: Pick<EncodeOptions, "specialTokens" | "signal"> = {}) {
    const parts = checkText(text, 0);
    const found = await Promise.all(parts.map((part) => this.#finder.find(part, { ...(signal && { signal }) })));
    const own = found.reduce((sum, { ids }) => sum + ids.length, 0);
    return own + (specialTokens ? specialCount(this.#templateOf(parts)) : 0);
  }

  /**
   * The number of a text's tokens, as {@link count} tells it. Throws `out_of_range` if they are more than the model
   * takes, which OpenAI's clients get as `context_length_exceeded`.
   */
  async checkLength(
    text: TextInput,
    { maxTokens = this.maxTokens, ...options }: Pick<EncodeOptions, "maxTokens" | "specialTokens" | "signal"> = {},
  ): Promise<number> {
    const count = await this.count(text, options);
    if (maxTokens === undefined || count <= maxTokens) return count;
    throw new ServingError(
      "out_of_range",
      `The text has ${count} tokens, and the model takes ${maxTokens} at most; send less.`,
    );
  }

  /** The ranges of a text's own tokens in it, in UTF-16 units. */
  findRanges(text: string, signal?: AbortSignal): Promise<Pick<FoundTokens, "starts" | "ends">> {
    const [checked = ""] = checkText(text, 0);
    return this.#finder.find(checked, { offsets: true, ...(signal && { signal }) });
  }

  /**
   * A conversation as the model's chat template writes it, to be encoded with `specialTokens: false`. Throws
   * `failed_precondition` if the model has no such template, `invalid_argument` if the template refuses the messages.
   */
  applyChatTemplate(messages: readonly ChatMessage[], options: ChatTemplateOptions = {}): string {
    return this.#chat.render(messages, options);
  }

  async #encodeOne(parts: readonly string[], options: EncodeOne): Promise<EncodedRow> {
    const { maxTokens = this.maxTokens, offsets = false, specialTokens = true, index, turns, last } = options;
    const truncate = options.truncate ?? (this.#files.config.truncation_side === "left" ? "left" : "right");
    const whole = this.#templateOf(parts);
    const template = specialTokens ? whole : textsAlone(whole);
    const room = maxTokens === undefined ? Number.POSITIVE_INFINITY : Math.max(0, maxTokens - specialCount(template));
    const found: FoundTokens[] = [];
    // Which text of a pair is the longer one is to be known.
    const most = parts.length === 1 ? room : room + PAIR_EXTRA;
    const finding = { offsets, turns, ...(truncate === "left" ? { last: room } : { most }) };
    const { maxPairTokens = Number.POSITIVE_INFINITY } = options;
    for (const [place, part] of parts.entries()) {
      const isQuery = place === 0 && parts.length > 1;
      const known = isQuery && last.text === part ? last.found : undefined;
      const name = parts.length > 1 ? `${index} (${place})` : `${index}`;
      const tokens = known ?? (await this.#finder.find(part, { ...finding, name }));
      if (isQuery) Object.assign(last, { text: part, found: tokens });
      found.push(place === 1 ? cutTokens(tokens, maxPairTokens, truncate === "left") : tokens);
    }
    const row = toRow(template, found, { room, keepsEnd: truncate === "left", offsets });
    if (row.wasCut && truncate === "refuse") throw tooLong(index, maxTokens);
    return row;
  }

  #templateOf(parts: readonly string[]): SpecialTokens["single"] {
    return parts.length > 1 ? this.#special.pair : this.#special.single;
  }

  /** 0 for a tokenizer that does not pad: those places are masked. */
  #padId(): bigint {
    const token = this.specialTokens.get("pad_token");
    return BigInt((token === undefined ? undefined : this.#finder.model.idOf(token)) ?? 0);
  }
}

/**
 * Loads the tokenizer in a folder: `tokenizer.json` and the files beside it. Throws `failed_precondition` for files
 * that are missing, damaged, or have parts that are not known.
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const [files, library] = await Promise.all([readTokenizerFiles(folder), importTokenizers()]);
  const jinja = files.chatTemplates.size > 0 ? await importJinja() : undefined;
  try {
    return new Tokenizer(files, library, jinja);
  } catch (reason) {
    throw failedPrecondition(`The tokenizer of ${folder} cannot be used: ${reasonText(reason)}`, reason);
  }
}

async function importTokenizers(): Promise<TokenizersLibrary> {
  const library: object = await import("@huggingface/tokenizers");
  return library as TokenizersLibrary;
}

async function importJinja(): Promise<JinjaLibrary> {
  const library: object = await import("@huggingface/jinja");
  return library as JinjaLibrary;
}

function cutTokens(tokens: FoundTokens, most: number, keepsEnd: boolean): FoundTokens {
  const { length } = tokens.ids;
  if (length <= most) return tokens;
  const range = keepsEnd ? ([length - most, length] as const) : ([0, most] as const);
  const [ids, starts, ends] = [tokens.ids, tokens.starts, tokens.ends].map((all) => all.slice(...range));
  return { ids: ids ?? [], starts: starts ?? [], ends: ends ?? [] };
}

/** The one or two texts of an input. */
function checkText(input: TextInput, index: number): readonly string[] {
  const texts: readonly unknown[] = typeof input === "string" ? [input] : Array.isArray(input) ? input : [input];
  if (texts.length === 1 || texts.length === 2) {
    const checked = texts.filter((text) => typeof text === "string");
    if (checked.length === texts.length) return checked;
  }
  throw invalidArgument(`Text ${index} is no text; expected a text, or two in an array.`);
}

function tooLong(index: number, maxTokens: number | undefined): Error {
  return new ServingError(
    "out_of_range",
    `Text ${index} has more than ${maxTokens} tokens, which the model takes at most; send it in parts, or have it cut.`,
  );
}
