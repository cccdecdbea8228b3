import type { Model, PredictCall } from "../../drivers/driver.ts";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { convertTensor } from "../../tensor/convert-tensor.ts";
import { DEFAULT_SIGNATURE, defaultSignatureName, type Signature } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { type EncodedTexts, fromTokenRows, textsOf, toTokenRows } from "../../text/encoded-texts.ts";
import { type PreparedText, readTextTask, type TextTask } from "../../text/text-task.ts";
import { loadTokenizer, type TextInput, type Tokenizer } from "../../text/tokenizer.ts";
import { whileCounted } from "../while-counted.ts";
import { createAnswer, groupsOf, type TextAnswer } from "./text-answer.ts";
import type { TextChoices } from "./text-options.ts";
import {
  addTextSignatures,
  type RowChoices,
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

/** A text of more bytes for each token that it may have is one that is cut. */
const MOST_TOKEN_BYTES = 6;
const NO_LIMIT = Number.POSITIVE_INFINITY;

/** A model, the path that it was loaded from, and how it is to be served. */
interface TextSource {
  readonly path: string;
  readonly choices: TextChoices;
  readonly log: Logger;
}

/** Says in the log of a model that is not to take texts that it could, by small files alone. Never throws. */
export async function hintTexts({ signatures }: Model, path: string, log: Logger): Promise<void> {
  const own = signatures[defaultSignatureName(signatures)];
  if (own === undefined || !isEncoder(own)) return;
  const task = await readTextTask(path).catch(() => undefined);
  if (task !== undefined)
    log.info("the model takes numbers of tokens; -o texts=true has it take texts", {
      task: task.kind,
      by: task.source,
    });
}

/**
 * Makes a model that lies beside a tokenizer take texts, and give what it is for: embeddings, scores of pairs, classes,
 * entities. It takes its numbers of tokens as before, by the signature `tokens`, or by the names of its inputs. Other
 * models are returned as they are, which the log says if texts are asked for. Throws `failed_precondition` for damaged
 * files, and where `tokens` is taken, if they are; else the log says why the model stays as it is.
 */
export async function withTexts(model: Model, source: TextSource): Promise<Model> {
  const { path, choices, log } = source;
  const isAsked = choices.wish === "true";
  try {
    const made = await textModel(model, source);
    if (typeof made !== "string") return made;
    if (isAsked) log.warn(`the model does not take texts in spite of -o texts=true: ${made}`, { path });
  } catch (reason) {
    if (isAsked) throw reason;
    log.warn(`the model takes numbers of tokens alone, since files beside it are no use: ${reasonText(reason)}`, {
      path,
    });
  }
  return model;
}

/** A model that takes texts, or the reason why it cannot. */
async function textModel(model: Model, { path, choices, log }: TextSource): Promise<Model | string> {
  const own = model.signatures[defaultSignatureName(model.signatures)];
  if (own === undefined || !isEncoder(own))
    return "its inputs are not input_ids, perhaps with attention_mask and token_type_ids";
  const task = await readTextTask(path);
  if (task === undefined) return "no tokenizer.json and config.json beside it say what it is for";
  const answer = createAnswer(task, own, choices);
  if (answer === undefined) return `none of its outputs is one of ${task.kind}`;
  const sizes = fixedSizes(own);
  const tokenizer = await loadTokenizer(task.folder);
  if (Object.hasOwn(model.signatures, TOKENS_SIGNATURE))
    throw failedPrecondition(
      `The model has a signature "${TOKENS_SIGNATURE}" already, which the option texts gives to its own inputs; leave the option out.`,
    );
  const { kind, source } = task;
  log.info("the model takes texts", { task: kind, by: source, maxTokens: choices.maxTokens ?? task.maxTokens });
  return new TextModel(model, { task, answer, tokenizer, choices, sizes }).asModel();
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
interface RunPlaces extends Pick<RowChoices, "maxTokens" | "maxPairTokens"> {
  readonly places: readonly number[];
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

  /** Texts run in groups, with turns between them in which the end of the request is noticed. */
  async #predict(given: Tensors, call: PredictCall): Promise<Tensors> {
    const { answer, sizes, task } = this.#parts;
    const names = answer.inputs.map(({ name }) => name);
    const texts = readTexts(given, names).map((text) => prepareText(text, task.prepares));
    const rows: ArrayLike<unknown>[] = new Array(texts.length);
    const counts = new TextCounts(texts.length);
    const choicesOf = readRowChoices(given);
    const cutOf = (place: number) => {
      const { maxTokens, maxPairTokens } = choicesOf(place);
      return [maxTokens, maxPairTokens] as const;
    };
    const limits = { rows: sizes.rows, bytes: this.#mostBytes, isFixed: Object.keys(sizes).length > 0, cutOf };
    const [{ shape } = { shape: [] }] = answer.outputs;
    const width = Math.max(1, Number(shape?.[1] ?? 1));
    const made = await whileCounted(2 * Float32Array.BYTES_PER_ELEMENT * width * texts.length, async () => {
      for (const [number, places] of groupsOf(texts, limits).entries()) {
        // A driver that blocks the thread would keep it from noticing that the request is over.
        if (number > 0) await new Promise(setImmediate);
        call.signal.throwIfAborted();
        const own = places.map((place) => texts[place] ?? "");
        const { outputs, encoded } = await this.#run(own, { places, ...choicesOf(places[0] ?? 0) }, call);
        const answers = answer.rowsOf(outputs, { encoded, texts: own });
        for (const [index, place] of places.entries()) {
          const row = answers[index] ?? [];
          rows[place] = answer.cutTo?.(row, choicesOf(place).dimensions) ?? row;
          counts.add(place, encoded, index);
        }
      }
      return answer.toTensors(rows);
    });
    const all = call.signature === DEFAULT_SIGNATURE ? made : counts.beside(made, task);
    const { outputs: wanted } = call;
    return wanted === undefined ? all : createTensors(Object.entries(all).filter(([name]) => wanted.includes(name)));
  }

  async #run(texts: readonly TextInput[], asked: RunPlaces, call: PredictCall) {
    const { places: indices, maxPairTokens } = asked;
    const { tokenizer, task, answer, choices, sizes } = this.#parts;
    const { rows = 0, tokens } = sizes;
    const maxTokens = Math.min(this.#mostTokens, asked.maxTokens === 0 ? NO_LIMIT : asked.maxTokens);
    // Its client has asked for the cut.
    const isWanted = choices.truncate === "refuse" && maxTokens < this.#mostTokens;
    const truncate = isWanted ? undefined : choices.truncate;
    const padding = new Array<TextInput>(Math.max(0, rows - texts.length)).fill(texts[0] ?? "");
    const encoded = await tokenizer.encode([...texts, ...padding], {
      ...(maxTokens !== NO_LIMIT && { maxTokens }),
      ...(maxPairTokens > 0 && { maxPairTokens }),
      ...(tokens !== undefined && { padding: tokens }),
      ...(truncate !== undefined && { truncate }),
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

/** Lengths of texts, as clients send them. */
function bytesOf(tensor: Tensor | undefined): readonly number[] {
  return tensor?.dtype === "bytes" ? tensor.data.map(({ length }) => length) : [];
}
