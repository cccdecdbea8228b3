import type { Model, PredictCall } from "../../drivers/driver.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { convertTensor } from "../../tensor/convert-tensor.ts";
import { DEFAULT_SIGNATURE, defaultSignatureName, type Signature } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { type EncodedTexts, fromTokenRows, textsOf, toTokenRows } from "../../text/encoded-texts.ts";
import { type PreparedText, readTextTask, type TextTask } from "../../text/text-task.ts";
import { loadTokenizer, type TextInput, type Tokenizer } from "../../text/tokenizer.ts";
import { areLikeLengths } from "../queue/batch-policy.ts";
import { createAnswer, type TextAnswer } from "./text-answer.ts";
import type { TextChoices } from "./text-options.ts";
import {
  addTextSignatures,
  readRowChoices,
  TextCounts,
  type TextSignatures,
  TOKENS_SIGNATURE,
} from "./text-signatures.ts";

/** Inputs of encoders, with what each is of the texts. */
const ENCODED: Readonly<Record<string, keyof Pick<EncodedTexts, "inputIds" | "attentionMask" | "tokenTypeIds">>> = {
  input_ids: "inputIds",
  attention_mask: "attentionMask",
  token_type_ids: "tokenTypeIds",
};

/** Rows of a run at most. */
const RUN_ROWS = 32;
/** A text of more bytes for each token that it may have is one that is cut. */
const MOST_TOKEN_BYTES = 6;
const NO_LIMIT = Number.POSITIVE_INFINITY;

/** A model, the path that it was loaded from, and how it is to be served. */
interface TextSource {
  readonly path: string;
  readonly choices: TextChoices;
  readonly log: Logger;
}

/** Says in the log that a model could take texts, by small files alone. Never throws. */
export async function hintTexts({ signatures }: Model, path: string, log: Logger): Promise<void> {
  const own = signatures[defaultSignatureName(signatures)];
  if (own === undefined || !isEncoder(own)) return;
  const task = await readTextTask(path).catch(() => undefined);
  if (task !== undefined) log.info("takes texts with -o texts=true", { task: task.kind, by: task.source });
}

/**
 * Makes a model that lies beside a tokenizer take texts, and give what it is for: embeddings, scores of pairs, classes,
 * entities. It takes its numbers of tokens as before, by the signature `tokens`, or by the names of its inputs. Other
 * models are returned as they are, which the log says. Throws `failed_precondition` for damaged files, and where
 * `tokens` is taken.
 */
export async function withTexts(model: Model, { path, choices, log }: TextSource): Promise<Model> {
  const own = model.signatures[defaultSignatureName(model.signatures)];
  const without = (reason: string) => {
    log.warn(`the model does not take texts in spite of -o texts=true: ${reason}`, { path });
    return model;
  };
  if (own === undefined || !isEncoder(own))
    return without("its inputs are not input_ids, perhaps with attention_mask and token_type_ids");
  const task = await readTextTask(path);
  if (task === undefined) return without("no tokenizer.json and config.json beside it say what it is for");
  const answer = createAnswer(task, own, choices);
  if (answer === undefined) return without(`none of its outputs is one of ${task.kind}`);
  const tokenizer = await loadTokenizer(task.folder);
  if (Object.hasOwn(model.signatures, TOKENS_SIGNATURE))
    throw failedPrecondition(
      `The model has a signature "${TOKENS_SIGNATURE}" already, which the option texts gives to its own inputs; leave the option out.`,
    );
  const { kind, source } = task;
  log.info("the model takes texts", { task: kind, by: source, maxTokens: choices.maxTokens ?? task.maxTokens });
  return new TextModel(model, { task, answer, tokenizer, choices, sizes: fixedSizes(own) }).asModel();
}

/** Rows and tokens of each run of a model that takes no others; absent = any. */
interface FixedSizes {
  readonly rows?: number;
  readonly tokens?: number;
}

function fixedSizes({ inputs = [] }: Signature): FixedSizes {
  const odd = inputs.find(({ shape }) => shape !== undefined && shape.length !== 2);
  if (odd !== undefined)
    throw failedPrecondition(`The model's input ${odd.name} has the shape [${odd.shape}]; expected rows of tokens.`);
  const [rows, tokens] = [0, 1].map((axis) => {
    const sizes = inputs.map(({ shape }) => Number(shape?.[axis])).filter((size) => size > 0);
    if (new Set(sizes).size > 1)
      throw failedPrecondition(`The model's inputs have ${sizes.join(" and ")} in one dimension; expected one size.`);
    return sizes[0];
  });
  return { ...(rows !== undefined && { rows }), ...(tokens !== undefined && { tokens }) };
}

function isEncoder({ inputs = [] }: Signature): boolean {
  return inputs.some(({ name }) => name === "input_ids") && inputs.every(({ name }) => Object.hasOwn(ENCODED, name));
}

interface TextParts {
  readonly task: TextTask;
  readonly answer: TextAnswer;
  readonly tokenizer: Tokenizer;
  readonly choices: TextChoices;
  readonly sizes: FixedSizes;
}

/** The places of a run's texts in the request, and the tokens that their clients want of each at most; 0 = any. */
interface RunPlaces {
  readonly places: readonly number[];
  readonly maxTokens: number;
}

class TextModel {
  readonly #model: Model;
  readonly #parts: TextParts;
  readonly #own: string;
  readonly #signatures: TextSignatures;

  constructor(model: Model, parts: TextParts) {
    const { task, answer, choices } = parts;
    this.#model = model;
    this.#parts = parts;
    this.#own = defaultSignatureName(model.signatures);
    const mayCut = task.isMatryoshka || choices.dimensions !== undefined;
    this.#signatures = addTextSignatures(model.signatures, this.#own, { task, answer, mayCut });
  }

  asModel(): Model {
    const { signatures } = this.#model;
    const { all, counted } = this.#signatures;
    const isOfTexts = (signature: string) => signature === DEFAULT_SIGNATURE || signature === counted;
    return {
      ...this.#model,
      signatures: all,
      // Its time depends on the texts, and a copy for the main thread would not have the tokenizer.
      isSteady: false,
      lengthOf: (given, signature) => (isOfTexts(signature) ? this.#lengthOf(given) : 0),
      predict: (given, call) => {
        const { signature } = call;
        if (signature === TOKENS_SIGNATURE) return this.#model.predict(given, callWith(call, this.#own, call.outputs));
        if (!isOfTexts(signature) && Object.hasOwn(signatures, signature)) return this.#model.predict(given, call);
        const { tokenizer } = this.#parts;
        const maxTokens = this.#mostTokens === NO_LIMIT ? 0 : this.#mostTokens;
        if (signature === "tokenize") return toTokenRows(tokenizer, given, { signal: call.signal, maxTokens });
        if (signature === "detokenize") return fromTokenRows(tokenizer, given, call.signal);
        return this.#predict(given, call);
      },
      close: () => this.#model.close(),
    };
  }

  /** Bytes of the longest text, or pair of texts, as far as they are not cut; 0 if all runs have one length. */
  #lengthOf(given: Tensors): number {
    if (this.#parts.sizes.tokens !== undefined) return 0;
    const [first, ...others] = this.#parts.answer.inputs.map(({ name }) => bytesOf(given[name]));
    const lengths = first?.map((own, row) => others.reduce((sum, bytes) => sum + (bytes[row] ?? 0), own));
    return Math.min(lengths?.reduce((one, other) => Math.max(one, other), 0) ?? 0, this.#mostBytes);
  }

  get #mostBytes(): number {
    return this.#mostTokens * MOST_TOKEN_BYTES;
  }

  get #mostTokens(): number {
    const { task, choices, sizes } = this.#parts;
    return Math.min(choices.maxTokens ?? task.maxTokens ?? NO_LIMIT, sizes.tokens ?? NO_LIMIT);
  }

  async #predict(given: Tensors, call: PredictCall): Promise<Tensors> {
    const { answer, sizes, task } = this.#parts;
    const names = answer.inputs.map(({ name }) => name);
    const texts = readTexts(given, names).map((text) => prepareText(text, task.prepares));
    const rows: (readonly unknown[])[] = new Array(texts.length);
    const { rows: fixed } = sizes;
    const isFixed = fixed !== undefined || sizes.tokens !== undefined;
    const limits = { rows: fixed ?? RUN_ROWS, bytes: this.#mostBytes, isFixed };
    const counts = new TextCounts(texts.length);
    const choicesOf = readRowChoices(given);
    for (const places of groupsOf(texts, limits, (place) => choicesOf(place).maxTokens)) {
      call.signal.throwIfAborted();
      const own = places.map((place) => texts[place] ?? "");
      const { outputs, encoded } = await this.#run(own, { places, ...choicesOf(places[0] ?? 0) }, call);
      const answers = answer.rowsOf(outputs, { encoded, texts: own });
      for (const [index, place] of places.entries()) {
        rows[place] = answer.cutTo?.(answers[index] ?? [], choicesOf(place).dimensions) ?? answers[index] ?? [];
        counts.add(place, encoded, index);
      }
    }
    const made = answer.toTensors(rows);
    const all = call.signature === DEFAULT_SIGNATURE ? made : counts.beside(made);
    const { outputs: wanted } = call;
    return wanted === undefined ? all : createTensors(Object.entries(all).filter(([name]) => wanted.includes(name)));
  }

  async #run(texts: readonly TextInput[], { places: indices, maxTokens: asked }: RunPlaces, call: PredictCall) {
    const { tokenizer, task, answer, choices, sizes } = this.#parts;
    const { rows = 0, tokens } = sizes;
    const maxTokens = Math.min(this.#mostTokens, asked === 0 ? NO_LIMIT : asked);
    const padding = new Array<TextInput>(Math.max(0, rows - texts.length)).fill(texts[0] ?? "");
    const encoded = await tokenizer.encode([...texts, ...padding], {
      ...(maxTokens !== NO_LIMIT && { maxTokens }),
      ...(tokens !== undefined && { padding: tokens }),
      ...(choices.truncate !== undefined && { truncate: choices.truncate }),
      offsets: task.kind === "entities",
      indices,
      signal: call.signal,
    });
    const specs = this.#model.signatures[this.#own]?.inputs ?? [];
    const inputs = specs.map(({ name, dtype }): [string, Tensor] => {
      const tensor = encoded[ENCODED[name] ?? "inputIds"];
      return [name, dtype === "int64" ? tensor : convertTensor(tensor, dtype)];
    });
    const outputs = await this.#model.predict(createTensors(inputs), callWith(call, this.#own, [answer.takes]));
    return { outputs, encoded };
  }
}

/** The call with another signature and outputs; its signal is made when it is asked for. */
function callWith(call: PredictCall, signature: string, outputs: readonly string[] | undefined): PredictCall {
  const { isTrial, deadlineMs } = call;
  return {
    signature,
    ...(outputs !== undefined && { outputs }),
    ...(isTrial !== undefined && { isTrial }),
    ...(deadlineMs !== undefined && { deadlineMs }),
    get signal() {
      return call.signal;
    },
  };
}

function prepareText(text: TextInput, how: PreparedText | undefined): TextInput {
  if (how === undefined || typeof text !== "string") return text;
  const stripped = `${how.prompt}${text}`.trim();
  return how.lowers ? stripped.toLowerCase() : stripped;
}

/** The texts of a request; pairs if there are two inputs. */
function readTexts(given: Tensors, names: readonly string[]): readonly TextInput[] {
  const [first = [], second] = names.map((name) => textsOf(given[name], name));
  if (second === undefined) return first;
  if (first.length !== second.length)
    throw invalidArgument(`There are ${first.length} texts in ${names[0]}, and ${second.length} in ${names[1]}.`);
  return first.map((text, index) => [text, second[index] ?? ""] as const);
}

interface GroupLimits {
  readonly rows: number;
  /** Bytes of a text that count. */
  readonly bytes: number;
  /** True if a run has so many rows, or each row so many tokens, whatever the texts are. */
  readonly isFixed: boolean;
}

/** The places of texts that run together: of like lengths, cut alike, a number of them at most. */
function groupsOf(
  texts: readonly TextInput[],
  { rows, bytes, isFixed }: GroupLimits,
  cutOf: (place: number) => number,
): readonly (readonly number[])[] {
  const lengths = texts.map((text) =>
    Math.min(
      [text].flat().reduce((sum, part) => sum + Buffer.byteLength(part), 0),
      bytes,
    ),
  );
  const lengthOf = (place: number) => lengths[place] ?? 0;
  const groups: number[][] = [];
  for (const place of [...lengths.keys()].sort((one, other) => lengthOf(one) - lengthOf(other))) {
    const group = groups.at(-1) ?? [];
    const [first] = group;
    const isAlike =
      first !== undefined &&
      cutOf(first) === cutOf(place) &&
      (isFixed || areLikeLengths(lengthOf(first), lengthOf(place)));
    if (isAlike && group.length < rows) group.push(place);
    else groups.push([place]);
  }
  return groups;
}

/** Lengths of texts, as clients send them. */
function bytesOf(tensor: Tensor | undefined): readonly number[] {
  return tensor?.dtype === "bytes" ? tensor.data.map(({ length }) => length) : [];
}
