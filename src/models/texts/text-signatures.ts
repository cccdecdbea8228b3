import { DEFAULT_SIGNATURE, type Signature, type TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { EncodedTexts } from "../../text/encoded-texts.ts";
import { numbersOf } from "../../text/pooling.ts";
import type { TextTask, TextTaskKind } from "../../text/text-task.ts";
import type { TextAnswer } from "./text-answer.ts";

/** The signature with the model's own inputs. */
export const TOKENS_SIGNATURE = "tokens";

const NUMBERS = { dtype: "int64", shape: [-1] } as const;
const TOKENS = { name: "tokens", dtype: "int64", shape: [-1, -1] } as const;
const COUNT = { ...NUMBERS, name: "count" } as const;

/**
 * Signatures by which the tokens of texts are told, unless the model has others of these names. A row has as many
 * tokens as its count says, so that those of several requests may be put together.
 */
const TOKENIZER_SIGNATURES: Readonly<Record<"tokenize" | "detokenize", Signature>> = {
  tokenize: {
    inputs: [
      { name: "text", dtype: "bytes", shape: [-1] },
      { name: "special_tokens", dtype: "bool", shape: [-1] },
    ],
    outputs: [TOKENS, COUNT, { ...NUMBERS, name: "max_tokens" }],
  },
  detokenize: { inputs: [TOKENS, COUNT], outputs: [{ name: "text", dtype: "bytes", shape: [-1] }] },
};

/**
 * The names of signatures for the protocols of texts, by task: beside each text its client's choices, and beside each
 * answer the tokens that it took.
 */
const COUNTED: Readonly<Partial<Record<TextTaskKind, string>>> = { embedding: "embed", scores: "score" };

/** Signatures of a model of texts, which may have some already. */
export interface TextSignatures {
  readonly all: Readonly<Record<string, Signature>>;
  /** Undefined = there is none. */
  readonly counted: string | undefined;
}

/** Adds the signatures of texts to those of a model, whose inputs and outputs are in the one named `own`. */
export function addTextSignatures(
  signatures: Readonly<Record<string, Signature>>,
  own: string,
  { task, answer, mayCut }: { readonly task: TextTask; readonly answer: TextAnswer; readonly mayCut: boolean },
): TextSignatures {
  const { inputs, outputs } = answer;
  const tokens = { ...signatures[own], byInputs: true as const };
  const isFree = (name: string) => !Object.hasOwn(signatures, name);
  const counted = [COUNTED[task.kind]].find((name) => name !== undefined && isFree(name));
  const added = Object.entries(TOKENIZER_SIGNATURES).filter(([name]) => isFree(name));
  const all = {
    ...{ ...signatures, [DEFAULT_SIGNATURE]: { inputs, outputs }, [TOKENS_SIGNATURE]: tokens },
    ...Object.fromEntries(added),
    ...(counted !== undefined && { [counted]: countedSignature(answer, mayCut, task) }),
  };
  return { all, counted };
}

/** Checks for scores of pairs that may be any numbers. */
function areLogits({ kind, activation }: TextTask): boolean {
  return kind === "scores" && activation === "none";
}

function countedSignature({ inputs, outputs }: TextAnswer, mayCut: boolean, task: TextTask): Signature {
  const isOfPairs = inputs.length > 1;
  const names = ["max_tokens", ...(mayCut ? ["dimensions"] : []), ...(isOfPairs ? ["max_text_pair_tokens"] : [])];
  const choices: readonly TensorSpec[] = names.map((name) => ({ ...NUMBERS, name, example: 0 }));
  const facts = [COUNT, { name: "was_cut", dtype: "bool", shape: [-1] }] as const;
  const relevance: readonly TensorSpec[] = areLogits(task)
    ? [{ name: "relevance", dtype: "float32", shape: [-1] }]
    : [];
  return { inputs: [...inputs, ...choices], outputs: [...outputs, ...relevance, ...facts] };
}

/** A client's choices for one text, or pair; 0 = it leaves them to the model. */
export interface RowChoices {
  readonly maxTokens: number;
  /** Tokens of the second text of a pair. */
  readonly maxPairTokens: number;
  readonly dimensions: number;
}

/** Reads those of each text. */
export function readRowChoices(given: Tensors): (place: number) => RowChoices {
  const { max_tokens: most, max_text_pair_tokens: ofPair, dimensions } = given;
  const numberAt = (tensor: Tensor | undefined, place: number) => Math.max(0, Number(tensor?.data[place] ?? 0));
  return (place) => ({
    maxTokens: numberAt(most, place),
    maxPairTokens: numberAt(ofPair, place),
    dimensions: numberAt(dimensions, place),
  });
}

/** The tokens that texts took, and if they were cut, as outputs. */
export class TextCounts {
  readonly #counts: BigInt64Array;
  readonly #wasCut: Uint8Array;

  constructor(rows: number) {
    this.#counts = new BigInt64Array(rows);
    this.#wasCut = new Uint8Array(rows);
  }

  add(place: number, { counts, wasCut }: EncodedTexts, row: number): void {
    this.#counts[place] = BigInt(counts[row] ?? 0);
    this.#wasCut[place] = Number(wasCut[row] ?? false);
  }

  /** These outputs beside others, and logits as numbers from 0 to 1 too, as reranking has them. */
  beside(outputs: Tensors, task: TextTask): Tensors {
    const rows = [this.#counts.length];
    const score = areLogits(task) ? outputs.score : undefined;
    const relevance = score && createTensor("float32", rows, Float32Array.from(numbersOf(score), sigmoid));
    return createTensors([
      ...Object.entries(outputs),
      ...(relevance === undefined ? [] : [["relevance", relevance] as const]),
      ["count", createTensor("int64", rows, this.#counts)],
      ["was_cut", createTensor("bool", rows, this.#wasCut)],
    ]);
  }
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
