import { defineJob } from "../../platform/codec-host/job.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { rowWriter } from "../../tensor/codecs/json/tensor-json.ts";
import { isObject } from "../../tensor/record.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { type Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import { checkText, checkTexts, readTexts } from "../text/text-input.ts";
import { assertFinite, type EmbedWish, type NumbersWish, readTruncation, toTensor } from "../text/vectors-codec.ts";

/** Reads a request of embeddings. Throws `invalid_argument` with the place of a wrong member. */
function readEmbed(bytes: Uint8Array): EmbedWish {
  const body = parseMembers(bytes);
  const model = body.text("model") ?? "";
  const texts = readTexts(body, "input");
  const isBase64 = body.choice("encoding_format", ["float", "base64"]) === "base64";
  const dimensions = body.number("dimensions", { isWhole: true, min: 1 });
  const request = writeRequest({ texts, dimensions, user: body.text("user"), more: body.rest() });
  return { model, texts: toTensor(texts), isBase64, dimensions, request, ...readTruncation(body) };
}

/** {@link readEmbed} for a codec thread. */
export const readEmbedJob = defineJob(import.meta.url, "readEmbedJob", readEmbed);

/** A request for how well texts fit others. */
export interface PairsWish extends NumbersWish {
  /** The text that all fit, or one for each. */
  readonly queries: Tensor<"bytes">;
  /** True = numbers from 0 to 1 where the model's own may be any; undefined = the choice is neither true nor false. */
  readonly wantsRelevance: boolean | undefined;
  /** The members that had both. */
  readonly sides: readonly [queries: string, texts: string];
}

/** A request for the order of documents. */
export interface RerankWish extends PairsWish {
  /** Results at most. */
  readonly topCount: number;
  /** Scores that are sent in place of those that sort: of two that differ, they may be equal. Absent = the same. */
  readonly relevance?: Tensor | undefined;
  /** True = the results have the documents. */
  readonly returnsDocuments: boolean;
}

/**
 * Reads a request of rerank in the forms of Cohere, Jina and vLLM. Throws `invalid_argument` with the place of a wrong
 * member.
 */
function readRerank(bytes: Uint8Array): RerankWish {
  const body = parseMembers(bytes);
  const model = body.text("model") ?? "";
  const query = checkText(body.requiredText("query"), "query");
  const given = body.list("documents");
  if (given === undefined || given.length === 0) throw body.wrong("documents", "a list with one text at least");
  const documents = checkTexts(
    given.map((each) => (isObject(each) ? each.text : each)),
    "documents",
  );
  // 0 is no limit, as in vLLM.
  const topCount = body.number("top_n", { isWhole: true, min: 0 }) || documents.length;
  const returnsDocuments = body.boolean("return_documents") ?? false;
  const [maxDocumentTokens, wantsRelevance] = [readDocumentCut(body), readRelevance(body)];
  const request = writeRequest({ query, documents, more: body.rest() });
  const both = { queries: toTensor([query]), texts: toTensor(documents), sides: ["query", "documents"] as const };
  const wanted = { topCount, returnsDocuments, wantsRelevance, maxDocumentTokens };
  return { model, ...both, ...wanted, request, ...readTruncation(body) };
}

/** Reads a choice in the form of Text Embeddings Inference, which functions get as sent. */
function readRelevance(body: Members): boolean | undefined {
  const raw = body.peek("raw_scores") ?? false;
  return typeof raw === "boolean" ? !raw : undefined;
}

/** Reads the tokens of a document that count, in Cohere's form. Functions get it as sent. */
function readDocumentCut(body: Members): number | undefined {
  const most = body.peek("max_tokens_per_doc") ?? undefined;
  if (most === undefined) return undefined;
  // 0 is no limit, as in vLLM.
  if (typeof most === "number" && Number.isSafeInteger(most) && most >= 0) return most || undefined;
  throw body.wrong("max_tokens_per_doc", "a whole number from 0 on");
}

/** The names of both sides of vLLM's pairs, newer ones behind. */
const SIDES = [
  ["text_1", "text_2"],
  ["queries", "documents"],
] as const;

/**
 * Reads a request of score in vLLM's form: one text and others that are to fit it, or as many texts on either side.
 * Throws likewise.
 */
function readScore(bytes: Uint8Array): PairsWish {
  const body = parseMembers(bytes);
  const model = body.text("model") ?? "";
  const sides = SIDES.find(([name]) => body.value(name) !== undefined) ?? SIDES[0];
  const [first, second] = sides;
  const [queries, documents] = [readTexts(body, first), readTexts(body, second)];
  const [query] = queries;
  if (queries.length > 1 && queries.length !== documents.length)
    throw wrongMember(first, `a list of ${queries.length} texts`, `one text, or ${documents.length} as ${second} has`);
  const request = writeRequest({ query, documents, more: body.rest() });
  const both = { queries: toTensor(queries), texts: toTensor(documents), sides };
  return { model, ...both, wantsRelevance: false, request, ...readTruncation(body) };
}

/** {@link readScore} for a codec thread. */
export const readScoreJob = defineJob(import.meta.url, "readScoreJob", readScore);

/** A request for the tokens of a text. */
export interface TokenizeWish {
  readonly model: string;
  readonly text: Tensor<"bytes">;
  /** True = with those that the model needs around a text. */
  readonly specialTokens: boolean;
}

/** Names of the text: those of vLLM, OpenVINO Model Server and llama.cpp. */
const PROMPTS = ["prompt", "text", "content"] as const;

/** Reads a request of tokenize. Throws likewise. */
function readTokenize(bytes: Uint8Array): TokenizeWish {
  const body = parseMembers(bytes);
  const name = PROMPTS.find((each) => body.value(each) !== undefined) ?? PROMPTS[0];
  if (body.value("messages") !== undefined) throw body.wrong("messages", "none: send the text itself as prompt");
  if (body.boolean("return_token_strs") === true)
    throw body.wrong("return_token_strs", "false: send detokenize tokens");
  const text = toTensor([checkText(body.requiredText(name), name)]);
  const specialTokens = body.boolean("add_special_tokens") ?? body.boolean("add_special") ?? true;
  return { model: body.text("model") ?? "", text, specialTokens };
}

/** {@link readTokenize} for a codec thread. */
export const readTokenizeJob = defineJob(import.meta.url, "readTokenizeJob", readTokenize);

/** A request for the text of tokens. */
export interface DetokenizeWish {
  readonly model: string;
  readonly tokens: Tensor<"int64">;
}

/** As many as a model of texts makes a text of. */
const MAX_TOKENS = 64 * 1024;

/** Reads a request of detokenize. Throws likewise. */
function readDetokenize(bytes: Uint8Array): DetokenizeWish {
  const body = parseMembers(bytes);
  const tokens = body.list("tokens");
  if (tokens === undefined) throw body.wrong("tokens", "a list of the numbers of tokens");
  if (tokens.length > MAX_TOKENS)
    throw wrongMember("tokens", `a list of ${tokens.length}`, `${MAX_TOKENS} at most: send several requests`);
  const wrong = tokens.findIndex((each) => !Number.isSafeInteger(each) || Number(each) < 0);
  if (wrong !== -1) throw wrongMember(`tokens[${wrong}]`, "no number of a token", "a whole number, 0 or more");
  const data = BigInt64Array.from(tokens, (each) => BigInt(Number(each)));
  return { model: body.text("model") ?? "", tokens: createTensor("int64", [1, data.length], data) };
}

/** {@link readDetokenize} for a codec thread. */
export const readDetokenizeJob = defineJob(import.meta.url, "readDetokenizeJob", readDetokenize);

/** Writes the answer of tokenize, with the tokens in the only row; 0 = the model's limit is not known. */
export function writeTokens(tokens: Tensor, maxTokens: number): Uint8Array {
  const writer = new JsonWriter();
  const [, count = 0] = tokens.shape;
  writer.ascii(`{"count":${count},"max_model_len":${maxTokens === 0 ? null : maxTokens},"tokens":`);
  rowWriter(writer, tokens, { separator: ",", bytes: () => {} })(0);
  writer.ascii(',"token_strs":null}');
  return writer.finish();
}

/** {@link writeTokens} for a codec thread. */
export const writeTokensJob = defineJob(import.meta.url, "writeTokensJob", writeTokens);

/** {@link readRerank} for a codec thread. */
export const readRerankJob = defineJob(import.meta.url, "readRerankJob", readRerank);

/** Facts about an answer beside its scores. */
export interface RankFacts {
  readonly id: string;
  readonly model: string;
  /** Undefined = they are not known. */
  readonly promptTokens: number | undefined;
  /** Results at most. */
  readonly topCount: number;
  /** Scores that are sent in place of those that sort: of two that differ, they may be equal. Absent = the same. */
  readonly relevance?: Tensor | undefined;
}

/** Writes the answer of rerank, the best document first, with the documents if there are some; throws likewise. */
export function writeRanks(scores: Tensor, documents: Tensor<"bytes"> | undefined, facts: RankFacts): Uint8Array {
  const { id, model, promptTokens: tokens, topCount, relevance = scores } = facts;
  assertFinite(relevance, model);
  const order = Array.from(relevance.data as Float32Array, (score, index) => ({ index, relevance_score: score }));
  order.sort((a, b) => Number(scores.data[b.index]) - Number(scores.data[a.index]));
  const writer = new JsonWriter();
  writer.ascii(`{"id":"${id}","model":`);
  writer.string(model);
  writer.ascii(',"results":[');
  for (const [place, result] of order.slice(0, topCount).entries()) {
    writer.ascii((place === 0 ? "" : ",") + JSON.stringify(result).slice(0, -1));
    if (documents !== undefined) {
      writer.ascii(',"document":{"text":');
      writer.text(documents.data[result.index] ?? new Uint8Array(0));
      writer.ascii("}");
    }
    writer.ascii("}");
  }
  writer.ascii(tokens === undefined ? "]}" : `],"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`);
  return writer.finish();
}

/** {@link writeRanks} for a codec thread. */
export const writeRanksJob = defineJob(import.meta.url, "writeRanksJob", writeRanks);

/** Writes the answer of score, in the order of the request; throws likewise. */
export function writeScores(
  scores: Tensor,
  { id, model, promptTokens: tokens = 0 }: Omit<RankFacts, "topCount">,
): Buffer {
  assertFinite(scores, model);
  const data = Array.from(scores.data as Float32Array, (score, index) => ({ index, object: "score", score }));
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const created = Math.floor(Date.now() / 1000);
  return Buffer.from(JSON.stringify({ id, object: "list", created, model, data, usage }));
}
