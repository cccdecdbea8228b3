import { ServingError } from "../../errors.ts";
import { isLargeText } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { inferNumbers, type NumbersAnswer } from "../../serving/infer-text.ts";
import type { CallOptions, InferenceService, Lease } from "../../serving/inference-service.ts";
import { mostRows, type ServableDescription } from "../../serving/servable-description.ts";
import { copyTexts } from "../../tensor/copy-in-turns.ts";
import type { DType } from "../../tensor/dtype.ts";
import { elementNumbers } from "../../tensor/elements.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import { type ChosenSignature, chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { toSize } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, elementCount, type Tensor } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import {
  COUNTS,
  type CountedSignature,
  choiceInputs,
  countedSignature,
  countTokens,
  refuseCut,
} from "./counted-texts.ts";
import { hasEntry, leaseFor } from "./lease-for.ts";
import { wrongMember } from "./members.ts";
import { type EmbedWish, type VectorsFrame, writeVectors, writeVectorsJob } from "./vectors-codec.ts";

/** A request for vectors, and the form of its answer. */
interface VectorsWish extends EmbedWish {
  /** To be called once the vectors are there; without a model's name it has that of the one which made them. */
  readonly frameOf: (made: NumbersAnswer) => Omit<VectorsFrame, "model"> & Partial<Pick<VectorsFrame, "model">>;
}

/** Answers with a vector for each text: by the function `embed` of hooks, or by a model that takes texts. */
export async function answerVectors(
  exchange: HttpExchange,
  service: InferenceService,
  wish: VectorsWish,
): Promise<HttpAnswer> {
  exchange.record.model = wish.model;
  const call = exchange.callInfo();
  const lease = await leaseFor(service, { model: wish.model, entries: ["embed"] }, call, EMBEDDING_MODELS);
  try {
    const made = await embed(lease, wish, call);
    const { rows, columns, numbers, headers } = made;
    const vectors = createTensor("float32", [rows, columns], numbers);
    const frame = { model: lease.description.model, ...wish.frameOf(made) };
    const body = isLargeText([vectors])
      ? await exchange.encode(writeVectorsJob, [vectors, frame])
      : writeVectors(vectors, frame);
    return { contentType: "application/json", body, headers };
  } finally {
    lease.release();
  }
}

async function embed(lease: Lease, wish: EmbedWish, call: CallOptions): Promise<NumbersAnswer> {
  const { texts, dimensions, request } = wish;
  const { model } = lease.description;
  const made = hasEntry(lease.description, "embed")
    ? await inferNumbers(lease, { entry: "embed", request, call }, elementCount(texts.shape))
    : await inferVectors(lease, wish, call);
  const { columns } = made;
  if (dimensions !== undefined && columns !== dimensions)
    throw wrongMember("dimensions", String(dimensions), `${columns}, as the vectors of ${model} have, or none`);
  return made;
}

/** A model, or a pipeline, that takes texts and gives a vector for each. */
interface EmbeddingModel {
  readonly signature: ChosenSignature;
  /** That by which it takes choices, and tells tokens; undefined = it does neither. */
  readonly counted: CountedSignature | undefined;
  readonly input: string;
  readonly output: string;
  /** True = it takes any number of texts, and gives a row for each. */
  readonly takesMany: boolean;
  /** The input's shape for so many texts. */
  readonly shapeOf: (count: number) => readonly number[];
  /** Texts of one run at most. */
  readonly maxTexts: number;
}

/** The types of vectors and scores. */
export const FLOATS: readonly DType[] = ["float32", "float64", "float16", "bfloat16"];
const NO_NUMBERS: readonly DType[] = ["bytes", "complex64", "complex128"];

/** Models that answer with vectors without a function of hooks. */
export const EMBEDDING_MODELS = { isEnough: isEmbeddingModel, does: "takes texts and gives vectors" };

/** Checks for a version that takes texts and gives vectors. */
export function isEmbeddingModel(description: ServableDescription): boolean {
  return embeddingModel(description) !== undefined;
}

/**
 * Tells how a version is run with texts: it needs one input, of bytes, `[n]` or `[n, 1]`, and has one output, of
 * floats, `[n, d]`, or `[d]` if it takes one text; `[n]` are scores. Undefined for any other.
 */
function embeddingModel(description: ServableDescription): EmbeddingModel | undefined {
  const signature = chooseSignature("", description.signatures);
  const needed = signature?.spec?.inputs?.filter((spec) => spec.default === undefined) ?? [];
  const outputs = signature?.spec?.outputs ?? [];
  const [input, output] = [needed[0], outputs[0]];
  if (signature === undefined || input === undefined || output === undefined) return undefined;
  if (needed.length !== 1 || outputs.length !== 1 || input.dtype !== "bytes" || !FLOATS.includes(output.dtype))
    return undefined;
  const rank = input.shape?.length ?? 1;
  const outputRank = output.shape?.length ?? 2;
  const [first = -1, second = 1] = (input.shape ?? [-1]).map(toSize);
  if (rank > 2 || Math.abs(first) !== 1 || Math.abs(second) !== 1 || outputRank > 2) return undefined;
  const takesMany = rank > 0 && first === -1;
  if (takesMany && outputRank !== 2) return undefined;
  const shapeOf = (count: number) => [count, 1].slice(0, rank);
  const maxTexts = takesMany ? mostRows(description) : 1;
  const counted = countedSignature(description, "embed");
  return { signature, counted, input: input.name, output: output.name, takesMany, shapeOf, maxTexts };
}

/** Runs a leased {@link embeddingModel} with texts, several times if it does not take all of them at once. */
async function inferVectors(lease: Lease, wish: EmbedWish, call: CallOptions): Promise<NumbersAnswer> {
  const model = embeddingModel(lease.description);
  if (model === undefined) throw new ServingError("internal", "The model takes no texts.");
  if (model.counted === undefined) refuseCut(wish, lease.description.model);
  const count = elementCount(wish.texts.shape);
  const size = Math.min(model.maxTexts, count);
  const runs: RunAnswer[] = [];
  for (let from = 0; from < count; from += size) {
    // The memory of a text may be given away with it, and the others may be in it too.
    const texts = size < count ? await copyTexts(wish.texts.data.slice(from, from + size)) : wish.texts;
    runs.push(await runModel(lease, model, { texts, from, wish, call }));
  }
  const [first] = runs;
  const columns = first?.columns ?? 0;
  const other = runs.find((each) => each.columns !== columns);
  if (other !== undefined) throw lengthsDiffer(lease.description.model, [columns, other.columns]);
  const headers = first?.headers ?? {};
  const promptTokens = model.counted && runs.reduce((sum, each) => sum + each.tokens, 0);
  if (size === count && first?.numbers instanceof Float32Array)
    return { rows: size, columns, numbers: first.numbers, headers, promptTokens };
  const numbers = new Float32Array(columns * count);
  for (const [index, each] of runs.entries()) numbers.set(each.numbers, index * size * columns);
  return { rows: count, columns, numbers, headers, promptTokens };
}

function lengthsDiffer(model: string, lengths: readonly [number, number]): ServingError {
  const came = lengths.join(" and of ");
  return new ServingError("internal", `The model ${model} gave vectors of ${came} numbers; expected one length.`);
}

interface RunAnswer {
  readonly columns: number;
  readonly numbers: ArrayLike<number>;
  readonly headers: NumbersAnswer["headers"];
  /** 0 = they are not known. */
  readonly tokens: number;
}

/** Texts of one run, of which the first one has the place `from` in the request. */
interface VectorsRun {
  readonly texts: Tensor<"bytes">;
  readonly from: number;
  readonly wish: EmbedWish;
  readonly call: CallOptions;
}

async function runModel(
  lease: Lease,
  { signature, counted, input, output, takesMany, shapeOf }: EmbeddingModel,
  { texts, from, wish, call }: VectorsRun,
): Promise<RunAnswer> {
  const count = elementCount(texts.shape);
  // Packed as it is: unpacked elements would be packed again, by this thread.
  const tensor = reshape(texts, shapeOf(count));
  const choices = counted === undefined ? [] : choiceInputs(counted, count, wish);
  const inputs = { kind: "tensors", tensors: createTensors([[input, tensor], ...choices]) } as const;
  const outputs = counted === undefined ? [output] : [output, ...COUNTS];
  const answer = await lease.infer({ signature: counted ?? signature, inputs, outputs, call });
  const all = answeredTensors(answer);
  const made = all[output];
  if (made === undefined || NO_NUMBERS.includes(made.dtype) || !isRows(made, count, takesMany)) {
    const came = made === undefined ? "no vectors" : `a tensor of ${made.dtype} of shape [${made.shape}]`;
    const message = `The model ${lease.description.model} gave ${came} for ${count} texts; expected one vector of numbers for each.`;
    throw new ServingError("internal", message);
  }
  const places = Array.from({ length: count }, (_, index) => from + index);
  const tokens = counted === undefined ? 0 : countTokens(all, places, wish);
  const numbers = elementNumbers(made, "The model");
  const columns = numbers.length / count;
  const head = { headers: answer.metadata, tokens };
  const { dimensions = columns } = counted?.mayCut === true ? wish : {};
  if (dimensions >= columns) return { ...head, columns, numbers };
  return { ...head, columns: dimensions, numbers: firstOf(numbers, columns, dimensions) };
}

/** The first numbers of each row: those behind them are zeros. */
function firstOf(numbers: ArrayLike<number>, columns: number, dimensions: number): Float32Array {
  const first = new Float32Array((numbers.length / columns) * dimensions);
  for (let at = 0; at < first.length; at++)
    first[at] = numbers[Math.floor(at / dimensions) * columns + (at % dimensions)] ?? 0;
  return first;
}

function isRows({ shape }: Tensor, count: number, takesMany: boolean): boolean {
  return (shape.length === 2 && shape[0] === count) || (shape.length === 1 && !takesMany);
}
