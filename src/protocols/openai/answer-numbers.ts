import { randomUUID } from "node:crypto";
import { ServingError } from "../../errors.ts";
import { isLargeText, LARGE_COPY_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { inferNumbers, type NumbersAnswer } from "../../serving/infer-text.ts";
import type { CallOptions, InferenceService, Lease } from "../../serving/inference-service.ts";
import { mostRows, type ServableDescription } from "../../serving/servable-description.ts";
import { copyTexts } from "../../tensor/copy-in-turns.ts";
import { elementNumbers } from "../../tensor/elements.ts";
import { type ChosenSignature, chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type TensorSpec, toSize } from "../../tensor/signature/signature.ts";
import { byteSize, createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { readBody } from "../text/answer-text.ts";
import { answerVectors, FLOATS } from "../text/answer-vectors.ts";
import {
  COUNTS,
  type CountedSignature,
  choiceInputs,
  countedSignature,
  countTokens,
  RELEVANCE,
  refuseCut,
} from "../text/counted-texts.ts";
import { hasEntry, leaseFor } from "../text/lease-for.ts";
import { wrongMember } from "../text/members.ts";
import { jsonAnswer } from "../text-answer.ts";
import {
  type PairsWish,
  type RankFacts,
  readDetokenizeJob,
  readEmbedJob,
  readRerankJob,
  readScoreJob,
  readTokenizeJob,
  writeRanks,
  writeRanksJob,
  writeScores,
  writeTokens,
  writeTokensJob,
} from "./numbers-codec.ts";

/** Answers `POST …/embeddings` by the function `embed` of hooks, or by a model that takes texts and gives vectors. */
export async function answerEmbeddings(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const wish = await readBody(exchange, readEmbedJob, await exchange.readBody());
  return answerVectors(exchange, service, {
    ...wish,
    frameOf: ({ promptTokens: tokens = 0 }) => ({
      ...{ isBase64: wish.isBase64, isIndexed: true },
      texts: ['{"object":"list","data":[', "],", `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`],
    }),
  });
}

/** Answers `POST …/rerank`, the best document first, by the function `rerank` of hooks or a model that scores pairs. */
export async function answerRerank(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const wish = await readBody(exchange, readRerankJob, await exchange.readBody());
  return answerScores(wish, { exchange, service }, async (scores, facts) => {
    const documents = wish.returnsDocuments ? wish.texts : undefined;
    const known = { ...facts, id: `rerank-${facts.id}`, topCount: wish.topCount };
    if (documents === undefined || !isLargeText([documents])) return writeRanks(scores, documents, known);
    return exchange.encode(writeRanksJob, [scores, documents, known]);
  });
}

/** Answers `POST …/score`, in the order of the request, by the same. */
export async function answerScore(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const wish = await readBody(exchange, readScoreJob, await exchange.readBody());
  return answerScores(wish, { exchange, service }, async (scores, facts) =>
    writeScores(scores, { ...facts, id: `score-${facts.id}` }),
  );
}

interface Asked {
  readonly exchange: HttpExchange;
  readonly service: InferenceService;
}

/** Writes scores; `id` is one that no other answer has. */
type WriteScores = (scores: Tensor, facts: Omit<RankFacts, "topCount">) => Promise<Uint8Array>;

/** Scores, with those from 0 to 1 where they are wanted beside others. */
type PairsAnswer = NumbersAnswer & { readonly relevance?: Float32Array | undefined };

async function answerScores(wish: PairsWish, { exchange, service }: Asked, write: WriteScores): Promise<HttpAnswer> {
  exchange.record.model = wish.model;
  const call = exchange.callInfo();
  const lease = await leaseFor(service, { model: wish.model, entries: ["rerank"] }, call, PAIR_MODELS);
  try {
    const { model } = lease.description;
    const { rows, numbers, relevance, promptTokens, headers } = hasEntry(lease.description, "rerank")
      ? await rank(lease, wish, call)
      : await inferScores(lease, wish, { call, exchange });
    const toTensor = (values: Float32Array) => createTensor("float32", [rows], values);
    const facts = { id: randomUUID(), model, promptTokens, relevance: relevance && toTensor(relevance) };
    return { contentType: "application/json", body: await write(toTensor(numbers), facts), headers };
  } finally {
    lease.release();
  }
}

async function rank(lease: Lease, wish: PairsWish, call: CallOptions): Promise<PairsAnswer> {
  const { sides, queries, texts, request } = wish;
  const [count] = queries.shape;
  if (count !== 1) throw wrongMember(sides[0], `a list of ${count} texts`, "one text, which the function rerank takes");
  return inferNumbers(lease, { entry: "rerank", request, call }, elementCount(texts.shape));
}

/** Models that score pairs of texts without a function of hooks. */
export const PAIR_MODELS = {
  isEnough: (description: ServableDescription) => pairModel(description) !== undefined,
  does: "scores pairs of texts",
};

/** A model, or a pipeline, that takes pairs of texts and gives a score for each. */
interface PairModel {
  readonly signature: ChosenSignature;
  /** That by which it takes choices, and tells tokens; undefined = it does neither. */
  readonly counted: CountedSignature | undefined;
  readonly first: string;
  readonly second: string;
  readonly output: string;
  /** Pairs of one run at most. */
  readonly maxPairs: number;
}

/**
 * Tells how a version is run with pairs: it needs two inputs, of bytes, `[n]`, the first of them for the query, and has
 * one output, of floats, `[n]` or `[n, 1]`. Undefined for any other.
 */
function pairModel(description: ServableDescription): PairModel | undefined {
  const signature = chooseSignature("", description.signatures);
  const needed = signature?.spec?.inputs?.filter((spec) => spec.default === undefined) ?? [];
  const outputs = signature?.spec?.outputs ?? [];
  const [[first, second], [output]] = [needed, outputs];
  if (signature === undefined || first === undefined || second === undefined || output === undefined) return undefined;
  if (needed.length !== 2 || outputs.length !== 1 || !needed.every(isTexts) || !isScores(output)) return undefined;
  const names = { first: first.name, second: second.name, output: output.name };
  return { signature, counted: countedSignature(description, "score"), ...names, maxPairs: mostRows(description) };
}

function isTexts({ dtype, shape }: TensorSpec): boolean {
  return dtype === "bytes" && shape?.map(toSize).join() === "-1";
}

function isScores({ dtype, shape }: TensorSpec): boolean {
  return FLOATS.includes(dtype) && ["-1", "-1,1"].includes(shape?.map(toSize).join() ?? "");
}

/** Bytes of the queries of all pairs at most: a model gets each of them for itself. */
const MAX_QUERY_BYTES = 32 * 1024 * 1024;

/** Counts the queries of all pairs, each of which is copied; throws `invalid_argument` for too many bytes. */
function holdQueries({ sides: [side], queries, texts }: PairsWish, exchange: HttpExchange): void {
  const count = elementCount(queries.shape) === 1 ? elementCount(texts.shape) : 1;
  const bytes = count * byteSize(queries);
  const most = Math.min(MAX_QUERY_BYTES, exchange.maxMessageBytes);
  if (bytes > most) throw wrongMember(side, `${byteSize(queries)} bytes for ${count} pairs`, `${most} in all pairs`);
  exchange.hold(bytes);
}

interface PairsCall {
  readonly call: CallOptions;
  readonly exchange: HttpExchange;
}

/** Runs a leased {@link pairModel}, several times if it does not take all pairs at once. */
async function inferScores(lease: Lease, wish: PairsWish, { call, exchange }: PairsCall): Promise<PairsAnswer> {
  const { queries, texts } = wish;
  if (wish.wantsRelevance === undefined) throw wrongMember("raw_scores", "no choice", "true or false");
  holdQueries(wish, exchange);
  const model = pairModel(lease.description);
  if (model === undefined) throw new ServingError("internal", "The model takes no pairs of texts.");
  const { signature, counted, first, second, maxPairs } = model;
  const hasRelevance = wish.wantsRelevance && counted?.hasRelevance === true;
  if (counted === undefined) refuseCut(wish, lease.description.model);
  const { length } = texts.data;
  const numbers = new Float32Array(length);
  const relevance = hasRelevance ? new Float32Array(length) : undefined;
  const made = [[model.output, numbers] as const, ...(relevance ? [[RELEVANCE, relevance] as const] : [])];
  let headers: NumbersAnswer["headers"] = {};
  let promptTokens: number | undefined;
  const places = Array.from({ length }, (_, place) => place);
  // Of like lengths together, so that short ones are not padded to long ones.
  if (maxPairs < length) places.sort((a, b) => (texts.data[a]?.length ?? 0) - (texts.data[b]?.length ?? 0));
  const textsOf = (place: number) =>
    [queries.data[place] ?? queries.data[0] ?? EMPTY, texts.data[place] ?? EMPTY] as const;
  for (const some of runsOf(places, textsOf, maxPairs)) {
    const count = some.length;
    // The memory of a text may be given away with it, and others may be in it too.
    const copy = (side: 0 | 1) => copyTexts(some.map((place) => textsOf(place)[side]));
    const tensors = createTensors([
      [first, await copy(0)],
      [second, await copy(1)],
      ...(counted === undefined ? [] : choiceInputs(counted, count, wish)),
    ]);
    const outputs = [...made.map(([output]) => output), ...(counted === undefined ? [] : COUNTS)];
    const inputs = { kind: "tensors", tensors } as const;
    const answer = await lease.infer({ signature: counted ?? signature, inputs, outputs, call });
    const all = answeredTensors(answer);
    if (counted !== undefined) promptTokens = (promptTokens ?? 0) + countTokens(all, some, wish);
    for (const [output, values] of made) {
      const scores = toScores(all[output], count, lease.description.model);
      for (const [index, place] of some.entries()) values[place] = scores[index] ?? Number.NaN;
    }
    headers = { ...headers, ...answer.metadata };
  }
  return { rows: length, columns: 1, numbers, relevance, headers, promptTokens };
}

const EMPTY = new Uint8Array(0);

/** The pairs of each run: so many at most, and of few bytes, but for a pair that has more by itself. */
function* runsOf(
  places: readonly number[],
  textsOf: (place: number) => readonly [Uint8Array, Uint8Array],
  maxPairs: number,
): Generator<readonly number[]> {
  let run: number[] = [];
  let bytes = 0;
  for (const place of places) {
    const [query, text] = textsOf(place);
    bytes += query.length + text.length;
    if (run.length === maxPairs || (run.length > 0 && bytes > LARGE_COPY_BYTES)) {
      yield run;
      run = [];
      bytes = query.length + text.length;
    }
    run.push(place);
  }
  yield run;
}

function toScores(made: Tensor | undefined, count: number, model: string): ArrayLike<number> {
  if (made !== undefined && FLOATS.includes(made.dtype) && elementCount(made.shape) === count)
    return elementNumbers(made, "The model");
  const came = made === undefined ? "no scores" : `a tensor of ${made.dtype} of shape [${made.shape}]`;
  const message = `The model ${model} gave ${came} for ${count} pairs of texts; expected one number for each.`;
  throw new ServingError("internal", message);
}

/** Answers `POST /tokenize` in vLLM's form, by a model that takes texts. */
export async function answerTokens(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const { model, text, specialTokens } = await readBody(exchange, readTokenizeJob, await exchange.readBody());
  const special = createTensor("bool", [1], Uint8Array.of(Number(specialTokens)));
  const inputs = { text, special_tokens: special };
  const {
    tokens: padded,
    count,
    max_tokens: most,
  } = await runTokenizer({ exchange, service }, { model, name: "tokenize", inputs });
  if (padded?.dtype !== "int64") throw noTokens();
  const length = Number(count?.data[0] ?? 0);
  const tokens = createTensor("int64", [1, length], padded.data.slice(0, length));
  const maxTokens = Number(most?.data[0] ?? 0);
  const body = isLargeText([tokens])
    ? await exchange.encode(writeTokensJob, [tokens, maxTokens])
    : writeTokens(tokens, maxTokens);
  return { contentType: "application/json", body };
}

/** Answers `POST /detokenize`, likewise; `content` is for clients of llama.cpp. */
export async function answerTokenText(exchange: HttpExchange, service: InferenceService): Promise<HttpAnswer> {
  const { model, tokens } = await readBody(exchange, readDetokenizeJob, await exchange.readBody());
  const count = createTensor("int64", [1], BigInt64Array.of(BigInt(tokens.data.length)));
  const inputs = { tokens, count };
  const { text } = await runTokenizer({ exchange, service }, { model, name: "detokenize", inputs });
  const [bytes] = text?.dtype === "bytes" ? text.data : [];
  if (bytes === undefined) throw noTokens();
  const prompt = Buffer.from(bytes).toString();
  return jsonAnswer({ prompt, content: prompt });
}

function noTokens(): ServingError {
  return new ServingError("internal", "The model's tokenizer gave no tokens.");
}

interface TokenizerCall {
  readonly model: string;
  /** The signature. */
  readonly name: "tokenize" | "detokenize";
  readonly inputs: Readonly<Record<string, Tensor>>;
}

async function runTokenizer({ exchange, service }: Asked, { model, name, inputs }: TokenizerCall): Promise<Tensors> {
  exchange.record.model = model;
  const call = exchange.callInfo();
  const isEnough = ({ signatures }: ServableDescription) => Object.hasOwn(signatures, name);
  const own = { isEnough, does: "takes texts by its tokenizer.json" };
  const lease = await leaseFor(service, { model, entries: [] }, call, own);
  try {
    const tensors = createTensors(Object.entries(inputs));
    const signature = { name, spec: lease.description.signatures[name] };
    return answeredTensors(await lease.infer({ signature, inputs: { kind: "tensors", tensors }, call }));
  } finally {
    lease.release();
  }
}
