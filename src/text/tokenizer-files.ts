import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition, type ServingError } from "../errors.ts";
import { readProblem } from "../platform/text/file-problem.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { isObject } from "../tensor/record.ts";

/**
 * The library that has the models of tokenizers, loaded with the first tokenizer, as far as it is used: its own
 * declarations name their files in a way that Node's module resolution does not take.
 */
export interface TokenizersLibrary {
  readonly Tokenizer: new (json: object, config: object) => LibraryTokenizer;
  readonly SplitPreTokenizer: new (config: object) => { readonly pattern: RegExp | null };
}

/** A tokenizer of the library. */
export interface LibraryTokenizer {
  readonly model: LibraryModel;
  decode(ids: readonly number[], options: object): string;
}

/** A model of the library: WordPiece, BPE (which has `bpe`) or Unigram (which has `tokenize`). */
export interface LibraryModel {
  readonly config: Config;
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token_id?: number | null;
  readonly unk_token?: string | null;
  readonly max_input_chars_per_word?: number;
  readonly ignore_merges?: boolean;
  readonly end_of_word_suffix?: string | null;
  bpe?(piece: string): readonly string[];
  tokenize?(piece: string): readonly string[];
}

/** An object of a JSON file. */
export type Config = Readonly<Record<string, unknown>>;

/** The names of a tokenizer's special tokens in its configuration. */
const SPECIAL_TOKENS = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/** The parts of `tokenizer.json` that every tokenizer has. */
export interface TokenizerJson extends Config {
  readonly model: Config;
  readonly added_tokens: readonly Config[];
}

/** The files of a tokenizer, read and checked. */
export interface TokenizerFiles {
  readonly json: TokenizerJson;
  /** `tokenizer_config.json`; empty without one. */
  readonly config: Config;
  /** Tokens of a text at most, special ones included; undefined if no file says. */
  readonly maxTokens: number | undefined;
  /** Special tokens by their names in the configuration, such as `pad_token`. */
  readonly specialTokens: ReadonlyMap<string, string>;
  /** Chat templates by name; the usual one is `default`. */
  readonly chatTemplates: ReadonlyMap<string, string>;
}

/**
 * Reads the files of a tokenizer as transformers writes them: `tokenizer.json`, and if they are there
 * `tokenizer_config.json`, `special_tokens_map.json`, `chat_template.jinja` and the model's `config.json`. Throws
 * `failed_precondition` naming the file and the fault.
 */
export async function readTokenizerFiles(folder: string): Promise<TokenizerFiles> {
  const path = join(folder, "tokenizer.json");
  const json = await readJsonFile(path);
  if (json === undefined) throw failedPrecondition(`${path} does not exist; expected the tokenizer of the model.`);
  const given = (await readJsonFile(join(folder, "tokenizer_config.json"))) ?? {};
  const usual = configIn(json);
  const config = { ...usual, ...given };
  const map = (await readJsonFile(join(folder, "special_tokens_map.json"))) ?? {};
  const template = await readIfThere(join(folder, "chat_template.jinja"));
  const model = (await readJsonFile(join(folder, "config.json"))) ?? {};
  return {
    json: checkTokenizer(withNormalizer(json, given), path),
    config,
    maxTokens: mostTokens(model, config, await readSentenceConfig(folder)),
    specialTokens: specialTokensOf({ ...usual, ...map, ...given }),
    chatTemplates: chatTemplatesOf(config.chat_template, template),
  };
}

/** Members of `tokenizer_config.json` for which `tokenizer.json` has others, which count where these are missing. */
function configIn({ padding, truncation }: Config): Config {
  const sideOf = (part: unknown) => (isObject(part) ? String(part.direction).toLowerCase() : undefined);
  const token = isObject(padding) ? tokenText(padding.pad_token) : undefined;
  return {
    padding_side: sideOf(padding),
    truncation_side: sideOf(truncation),
    ...(token !== undefined && { pad_token: token }),
  };
}

/** Classes that take `tokenizer.json` as it is. */
const GENERIC_CLASSES: readonly unknown[] = ["PreTrainedTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend"];
/** Members of a `BertNormalizer`, and those of `tokenizer_config.json` that overrule them in all other classes. */
const BERT_MEMBERS = [
  ["lowercase", "do_lower_case"],
  ["strip_accents", "strip_accents"],
  ["handle_chinese_chars", "tokenize_chinese_chars"],
] as const;

function withNormalizer(json: Config, config: Config): Config {
  const { normalizer } = json;
  if (!isObject(normalizer) || normalizer.type !== "BertNormalizer") return json;
  if (GENERIC_CLASSES.includes(config.tokenizer_class)) return json;
  const given = BERT_MEMBERS.flatMap(([name, configured]) => {
    const value = config[configured];
    return typeof value === "boolean" || (value === null && name === "strip_accents") ? [[name, value] as const] : [];
  });
  return { ...json, normalizer: { ...normalizer, ...Object.fromEntries(given) } };
}

/** Tokens that a model has positions for; RoBERTa and its kind count them from behind the padding's number. */
function positionsOf({ max_position_embeddings: positions, model_type: type, pad_token_id: pad }: Config) {
  const count = numberOf(positions);
  const isOffset = /roberta|camembert|mpnet/.test(String(type));
  return count !== undefined && isOffset ? count - (numberOf(pad) ?? 1) - 1 : count;
}

/** A larger limit in a configuration stands for none. */
const NO_LIMIT = 1_000_000;

/** The least of some limits of a model's tokens, of which some may be unknown; undefined if all are. */
function leastLimit(...limits: readonly unknown[]): number | undefined {
  const known = limits.map(numberOf).filter((limit) => limit !== undefined && limit < NO_LIMIT);
  return known.length === 0 ? undefined : Math.min(...known.map(Number));
}

/** Tokens of a text at most, by a model's `config.json`, its tokenizer's, and sentence-transformers' own file. */
export function mostTokens(model: Config, tokenizer: Config, { max_seq_length: most }: Config): number | undefined {
  return leastLimit(numberOf(most) ?? tokenizer.model_max_length, positionsOf(model));
}

/** A whole number above 0; undefined for any other value. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** The object in a JSON file; undefined without the file. Throws `failed_precondition` for any other content. */
export async function readJsonFile(path: string): Promise<Config | undefined> {
  const value = await readJson(path);
  if (value === undefined || isObject(value)) return value;
  throw failedPrecondition(`${path} has ${kindOf(value)}; expected an object.`);
}

/** The names of sentence-transformers' own file about its encoder, of which it reads the first that is there. */
export const SENTENCE_CONFIGS: readonly string[] = [
  ...["sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json"],
  ...["sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json"],
  "sentence_xlnet_config.json",
];

/** That file's content; empty without one. */
export async function readSentenceConfig(folder: string): Promise<Config> {
  for (const name of SENTENCE_CONFIGS) {
    const config = await readJsonFile(join(folder, name));
    if (config !== undefined) return config;
  }
  return {};
}

/** The value in a JSON file; undefined if there is no such file. Throws `failed_precondition` for other content. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (reason) {
    throw failedPrecondition(`${path} is not JSON (it may be cut short); download it again.`, reason);
  }
}

/** A file that may be missing. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    const problem = readProblem(reason);
    if (problem.startsWith("does not exist")) return undefined;
    throw failedPrecondition(`${path} ${problem}.`, reason);
  }
}

/** An error about a part of `tokenizer.json` that cannot be run. */
export function unsupportedPart(part: string, type: unknown, known: readonly string[]): ServingError {
  const found = typeof type === "string" ? `"${type.slice(0, 100)}"` : kindOf(type);
  return failedPrecondition(`tokenizer.json has a ${part} of type ${found}; expected one of ${known.join(", ")}.`);
}

/** A token's text, which files have as such or as the `content` of an object. */
export function tokenText(value: unknown): string | undefined {
  const text = isObject(value) ? value.content : value;
  return typeof text === "string" ? text : undefined;
}

function checkTokenizer({ model, added_tokens: added, ...parts }: Config, path: string): TokenizerJson {
  const wrong = (what: string, expected: string) => failedPrecondition(`${path} has ${what}; expected ${expected}.`);
  if (!isObject(model)) throw wrong(`${kindOf(model)} as its model`, "an object with a vocabulary");
  const { vocab, merges, continuing_subword_prefix: prefix, type } = model;
  if (Array.isArray(vocab) ? !vocab.every(isScored) : !isObject(vocab) || !Object.values(vocab).every(isId))
    throw wrong(
      "a model without a usable vocabulary",
      "tokens with their numbers, or for Unigram pairs of a token and a score",
    );
  if (merges !== undefined && !(Array.isArray(merges) && merges.every(isMerge)))
    throw wrong("merges that are none", "pairs of tokens");
  if (type === "BPE" && merges === undefined) throw wrong("a BPE model without merges", "pairs of tokens");
  if (type === "BPE" && prefix) throw wrong("a BPE model with a prefix of word parts", "none: such are not supported");
  const tokens = added ?? [];
  if (Array.isArray(tokens) && tokens.every(isAddedToken)) return { ...parts, model, added_tokens: tokens };
  throw wrong("added_tokens that are none", "a list of objects with id and content");
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isScored(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "string" && Number.isFinite(value[1]);
}

function isMerge(value: unknown): boolean {
  if (typeof value === "string") return value.includes(" ");
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
}

function isAddedToken(value: unknown): boolean {
  return isObject(value) && isId(value.id) && typeof value.content === "string" && value.content !== "";
}

function specialTokensOf(config: Config): ReadonlyMap<string, string> {
  const found = SPECIAL_TOKENS.flatMap((name) => {
    const text = tokenText(config[name]);
    return text === undefined ? [] : [[name, text] as const];
  });
  return new Map(found);
}

/** A file beats the configuration, which has one template or a list of named ones. */
function chatTemplatesOf(configured: unknown, file: string | undefined): ReadonlyMap<string, string> {
  const templates = new Map<string, string>();
  if (typeof configured === "string") templates.set("default", configured);
  if (Array.isArray(configured))
    for (const one of configured)
      if (isObject(one) && typeof one.name === "string" && typeof one.template === "string")
        templates.set(one.name, one.template);
  if (file !== undefined) templates.set("default", file);
  return templates;
}
