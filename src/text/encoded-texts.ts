import { failedPrecondition, invalidArgument } from "../errors.ts";
import { isObject } from "../tensor/record.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { listOf } from "./normalizers.ts";
import { type FoundTokens, Turns } from "./token-finder.ts";
import { type Config, unsupportedPart } from "./tokenizer-files.ts";

/** A place in what becomes of one or two texts: a special token, or one of the texts. */
interface TemplateItem {
  readonly type: number;
  /** Special tokens; absent for a text. */
  readonly ids?: readonly number[];
  /** 0 = the first text, 1 = the second. */
  readonly text: 0 | 1;
}

/** The special tokens around one text, and around a pair. */
export interface SpecialTokens {
  readonly single: readonly TemplateItem[];
  readonly pair: readonly TemplateItem[];
}

const TEXT = { type: 0, text: 0 } as const;
const PLAIN: SpecialTokens = { single: [TEXT], pair: [TEXT, { type: 0, text: 1 }] };

type Make = (config: Config, idOf: (token: string) => number | undefined) => SpecialTokens | undefined;

/** The post-processors of `tokenizer.json` by type; undefined = it adds no tokens. */
const POST_PROCESSORS: Readonly<Record<string, Make>> = {
  BertProcessing: (config) => {
    const [cls, sep] = [givenToken(config.cls), givenToken(config.sep)];
    return { single: [cls, TEXT, sep], pair: [cls, TEXT, sep, { type: 1, text: 1 }, { ...sep, type: 1 }] };
  },
  ByteLevel: () => undefined,
  RobertaProcessing: (config) => {
    const [cls, sep] = [givenToken(config.cls), givenToken(config.sep)];
    return { single: [cls, TEXT, sep], pair: [cls, TEXT, sep, sep, { type: 0, text: 1 }, sep] };
  },
  Sequence: (config, idOf) => {
    const found = listOf(config.processors).map((part) => findTemplate(part, idOf));
    return found.find((template) => template !== undefined);
  },
  TemplateProcessing: (config, idOf) => ({
    single: listOf(config.single).map((item) => templateItem(item, config, idOf)),
    pair: listOf(config.pair).map((item) => templateItem(item, config, idOf)),
  }),
};

/** Reads where a tokenizer adds special tokens; throws `failed_precondition` for a post-processor that is not known. */
export function readSpecialTokens(config: unknown, idOf: (token: string) => number | undefined): SpecialTokens {
  return findTemplate(config, idOf) ?? PLAIN;
}

function findTemplate(config: unknown, idOf: (token: string) => number | undefined): SpecialTokens | undefined {
  if (config === null || config === undefined) return undefined;
  const type = isObject(config) ? config.type : config;
  const known = typeof type === "string" && Object.hasOwn(POST_PROCESSORS, type) ? POST_PROCESSORS[type] : undefined;
  if (known === undefined || !isObject(config))
    throw unsupportedPart("post_processor", type, Object.keys(POST_PROCESSORS));
  return known(config, idOf);
}

/** A token as `["[CLS]", 101]`. */
function givenToken(value: unknown): TemplateItem {
  const [, id] = listOf(value);
  if (typeof id === "number") return { ids: [id], type: 0, text: 0 };
  throw failedPrecondition("tokenizer.json has a post_processor without the numbers of its special tokens.");
}

function templateItem(item: unknown, { special_tokens: special }: Config, idOf: (token: string) => number | undefined) {
  const { Sequence: sequence, SpecialToken: token } = isObject(item) ? item : {};
  if (isObject(sequence)) return { type: Number(sequence.type_id ?? 0), text: sequence.id === "B" ? 1 : 0 } as const;
  const name = isObject(token) ? String(token.id) : "";
  const known = isObject(special) ? special[name] : undefined;
  const ids = isObject(known) ? listOf(known.ids).map(Number) : [idOf(name) ?? Number.NaN];
  if (isObject(token) && ids.every(Number.isInteger))
    return { type: Number(token.type_id ?? 0), ids, text: 0 } as const;
  throw failedPrecondition(`tokenizer.json has a post_processor with the token "${name}", which it does not number.`);
}

/** Number of special tokens that are added. */
export function specialCount(template: readonly TemplateItem[]): number {
  return template.reduce((sum, { ids = [] }) => sum + ids.length, 0);
}

/** The template without special tokens. */
export function textsAlone(template: readonly TemplateItem[]): readonly TemplateItem[] {
  return template.filter(({ ids }) => ids === undefined);
}

/** Texts as a model takes them: a row for each, padded to one length. */
export interface EncodedTexts {
  readonly inputIds: Tensor<"int64">;
  /** 1 for tokens, 0 for padding. */
  readonly attentionMask: Tensor<"int64">;
  /** 0 for the first text of a pair, 1 for the second, as the tokenizer says. */
  readonly tokenTypeIds: Tensor<"int64">;
  /** Tokens of each row without padding. */
  readonly counts: readonly number[];
  /** True for each text that was longer than permitted, and is cut. */
  readonly wasCut: readonly boolean[];
  /**
   * For each token of each row the range in its text, in UTF-16 units as `slice` takes them; [0, 0] for special tokens
   * and for padding in front.
   */
  readonly offsets?: readonly (readonly (readonly [number, number])[])[];
}

/** A row before it is padded. */
export interface EncodedRow {
  readonly ids: readonly number[];
  readonly types: readonly number[];
  readonly wasCut: boolean;
  readonly ranges: readonly (readonly [number, number])[];
}

interface Cut {
  /** Tokens of the texts at most. */
  readonly room: number;
  /** True if beginnings are cut off, and not ends. */
  readonly keepsEnd: boolean;
  /** True if the row has ranges. */
  readonly offsets: boolean;
}

/** The tokens of one or two texts, cut to the room that there is, with the special ones around them. */
export function toRow(
  template: readonly TemplateItem[],
  found: readonly FoundTokens[],
  { room, keepsEnd, offsets }: Cut,
): EncodedRow {
  const lengths = found.map(({ ids }) => ids.length);
  const kept = longestFirst(lengths, room);
  const ids: number[] = [];
  const types: number[] = [];
  const ranges: (readonly [number, number])[] = [];
  const add = (id: number, type: number, range: readonly [number, number]) => {
    ids.push(id);
    types.push(type);
    if (offsets) ranges.push(range);
  };
  for (const item of template) {
    for (const id of item.ids ?? []) add(id, item.type, [0, 0]);
    const tokens = item.ids === undefined ? found[item.text] : undefined;
    if (tokens === undefined) continue;
    const count = kept[item.text] ?? 0;
    const start = keepsEnd ? tokens.ids.length - count : 0;
    for (let at = start; at < start + count; at++)
      add(tokens.ids[at] ?? 0, item.type, [tokens.starts[at] ?? 0, tokens.ends[at] ?? 0]);
  }
  return { ids, types, ranges, wasCut: kept.some((count, text) => count < (lengths[text] ?? 0)) };
}

/** The tokens of each of two texts that stay if the longer one is cut first: `longest_first` of tokenizers. */
function longestFirst(lengths: readonly number[], most: number): number[] {
  const [first = 0, second = 0] = lengths;
  if (lengths.length < 2) return [Math.min(first, Math.max(0, most))];
  if (first + second <= most) return [first, second];
  const kept = Math.max(0, most);
  const isFirst = first <= second;
  let less = isFirst ? first : second;
  let more = less > kept ? less : Math.max(less, kept - less);
  if (less + more > kept) [less, more] = [Math.floor(kept / 2), Math.ceil(kept / 2)];
  return isFirst ? [less, more] : [more, less];
}

interface Padding {
  /** Tokens of a row at least. */
  readonly minimum: number;
  /** True if the padding is in front. */
  readonly isLeft: boolean;
  readonly padId: bigint;
  /** True if the rows have ranges. */
  readonly offsets: boolean;
}

/** Pads the rows to one length. */
export function toTensors(rows: readonly EncodedRow[], { minimum, isLeft, padId, offsets }: Padding): EncodedTexts {
  const length = rows.reduce((most, { ids }) => Math.max(most, ids.length), minimum);
  const ids = new BigInt64Array(rows.length * length).fill(padId);
  const mask = new BigInt64Array(ids.length);
  const types = new BigInt64Array(ids.length);
  for (const [row, tokens] of rows.entries()) {
    const start = row * length + (isLeft ? length - tokens.ids.length : 0);
    for (const [at, id] of tokens.ids.entries()) ids[start + at] = BigInt(id);
    for (const [at, type] of tokens.types.entries()) if (type !== 0) types[start + at] = BigInt(type);
    mask.fill(1n, start, start + tokens.ids.length);
  }
  const shape = [rows.length, length];
  const blank = new Array<readonly [number, number]>(length).fill([0, 0]);
  return {
    inputIds: createTensor("int64", shape, ids),
    attentionMask: createTensor("int64", shape, mask),
    tokenTypeIds: createTensor("int64", shape, types),
    counts: rows.map((row) => row.ids.length),
    wasCut: rows.map((row) => row.wasCut),
    ...(offsets && { offsets: rows.map(({ ranges }) => [...(isLeft ? blank.slice(ranges.length) : []), ...ranges]) }),
  };
}

/**
 * The texts of a `bytes` tensor, as clients send them; `name` is that of the input. Throws `invalid_argument` for
 * another tensor, or none, and for bytes that are no UTF-8.
 */
export function textsOf(tensor: Tensor | undefined, name = "text"): readonly string[] {
  if (tensor?.dtype !== "bytes")
    throw invalidArgument(`Input "${name}" is ${tensor?.dtype ?? "missing"}; expected texts.`);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return tensor.data.map((element, index) => {
    try {
      return decoder.decode(element);
    } catch (reason) {
      throw invalidArgument(`Text ${index} of "${name}" is not UTF-8; expected text.`, reason);
    }
  });
}

/** Tokens of all rows at most, with those that short rows are filled up with: 128 MB. */
const MAX_CELLS = 16 * 1024 * 1024;
/** Tokens of a row at most that become a text, which is one piece of work that nothing ends. */
const MAX_DECODED = 64 * 1024;

/** A tokenizer, as far as rows need it. */
interface RowTokenizer {
  encode(texts: readonly string[], options: RowOptions): Promise<Pick<EncodedTexts, "inputIds">>;
  decode(ids: BigInt64Array, options: { readonly specialTokens: boolean }): string;
}

interface RowOptions extends TokenizeOptions {
  readonly specialTokens: boolean;
  readonly indices: readonly number[];
}

interface TokenizeOptions {
  readonly signal: AbortSignal;
  /** Told in each row; 0 = it is not known. */
  readonly maxTokens: number;
}

/**
 * Tokens of whole texts as rows that are as long as the longest, each with its count. Throws `invalid_argument` if
 * these would be too many.
 */
export async function toTokenRows(
  tokenizer: RowTokenizer,
  { text, special_tokens: special }: Tensors,
  { signal, maxTokens }: TokenizeOptions,
): Promise<Tensors> {
  const texts = textsOf(text, "text");
  const rows: BigInt64Array[] = [];
  // Those that encode takes are for one text.
  const turns = new Turns(signal);
  let width = 0;
  for (const [index, one] of texts.entries()) {
    if (turns.isOver()) await turns.next();
    const options = { specialTokens: special?.data[index] !== 0, signal, maxTokens: Number.MAX_SAFE_INTEGER };
    const { data } = (await tokenizer.encode([one], { ...options, indices: [index] })).inputIds;
    width = Math.max(width, data.length);
    checkCells(texts.length, width);
    rows.push(data);
  }
  const tokens = new BigInt64Array(rows.length * width);
  for (const [index, row] of rows.entries()) tokens.set(row, index * width);
  const each = (data: readonly number[]) => createTensor("int64", [rows.length], BigInt64Array.from(data, BigInt));
  return createTensors([
    ["tokens", createTensor("int64", [rows.length, width], tokens)],
    ["count", each(rows.map(({ length }) => length))],
    ["max_tokens", each(rows.map(() => maxTokens))],
  ]);
}

function checkCells(rows: number, width: number): void {
  if (rows * width <= MAX_CELLS) return;
  throw invalidArgument(
    `One of ${rows} texts has ${width} tokens, as many as all rows would have; expected ${MAX_CELLS} in all rows: send long texts alone.`,
  );
}

/** Texts of such rows. Throws `invalid_argument` for a row of too many tokens. */
export async function fromTokenRows(
  tokenizer: RowTokenizer,
  { tokens, count }: Tensors,
  signal: AbortSignal,
): Promise<Tensors> {
  if (tokens?.dtype !== "int64" || count?.dtype !== "int64") throw invalidArgument("tokens and count are no int64.");
  const [rows = 0, width = 0] = tokens.shape;
  const texts: Uint8Array[] = [];
  const turns = new Turns(signal);
  for (let row = 0; row < rows; row++) {
    if (turns.isOver()) await turns.next();
    const length = Math.min(width, Number(count.data[row] ?? 0));
    if (length > MAX_DECODED)
      throw invalidArgument(`Row ${row + 1} has ${length} tokens; expected ${MAX_DECODED} at most: send it in parts.`);
    const ids = tokens.data.subarray(row * width, row * width + Math.max(0, length));
    texts.push(new TextEncoder().encode(tokenizer.decode(ids, { specialTokens: true })));
  }
  return createTensors([["text", createTensor("bytes", [rows], texts)]]);
}
