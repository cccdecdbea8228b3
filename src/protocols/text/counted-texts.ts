import { ServingError } from "../../errors.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { ChosenSignature } from "../../tensor/signature/choose-signature.ts";
import { createTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { wrongMember } from "./members.ts";

/** Choices of a client about the texts of its request, for models that have a tokenizer themselves. */
export interface TextCut {
  /** Tokens of each text that count; absent = as many as the model takes. */
  readonly maxTokens?: number | undefined;
  /** Tokens of each document of a rerank that count; absent = as many as there is room for. */
  readonly maxDocumentTokens?: number | undefined;
  /** True = texts that the model would cut are refused. */
  readonly refusesCut?: boolean | undefined;
}

/** A signature of a model of texts that takes its clients' choices, and tells the tokens of each text. */
export interface CountedSignature extends ChosenSignature {
  /** True = it can do with the first numbers of a vector. */
  readonly mayCut: boolean;
  /** True = it can do with the first tokens of a pair's second text. */
  readonly mayCutPairs: boolean;
  /** True = its scores may be any numbers, and it has them from 0 to 1 too, as {@link RELEVANCE}. */
  readonly hasRelevance: boolean;
}

/** Outputs of such a signature beside its answer. */
export const COUNTS = ["count", "was_cut"] as const;
/** A further output of some: scores as reranking has them. */
export const RELEVANCE = "relevance";

/** Finds that signature; undefined for versions without it. */
export function countedSignature(
  { signatures }: ServableDescription,
  name: "embed" | "score",
): CountedSignature | undefined {
  const spec = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  const has = (input: string) => spec?.inputs?.some((each) => each.name === input) === true;
  const tells = (output: string) => spec?.outputs?.some((each) => each.name === output) === true;
  if (!has("max_tokens") || !COUNTS.every(tells)) return undefined;
  const [mayCut, mayCutPairs] = [has("dimensions"), has("max_text_pair_tokens")];
  return { name, spec, mayCut, mayCutPairs, hasRelevance: tells(RELEVANCE) };
}

/** Its inputs for the choices about so many texts. */
export function choiceInputs(
  { mayCut, mayCutPairs }: CountedSignature,
  count: number,
  given: TextCut & { readonly dimensions?: number | undefined },
): readonly (readonly [string, Tensor])[] {
  const { maxTokens = 0, maxDocumentTokens = 0, dimensions = 0 } = given;
  const each = (value: number) => createTensor("int64", [count], new BigInt64Array(count).fill(BigInt(value)));
  return [
    ["max_tokens", each(maxTokens)],
    ...(mayCut ? [["dimensions", each(dimensions)] as const] : []),
    ...(mayCutPairs ? [["max_text_pair_tokens", each(maxDocumentTokens)] as const] : []),
  ];
}

/** The tokens of the texts at some places of a request. Throws `out_of_range` for one that was cut and must not be. */
export function countTokens({ count, was_cut: cut }: Tensors, places: readonly number[], { refusesCut }: TextCut) {
  const wrong = refusesCut === true ? places.findIndex((_, row) => Boolean(cut?.data[row])) : -1;
  if (wrong !== -1)
    throw new ServingError(
      "out_of_range",
      `Text ${places[wrong]} has more tokens than the model takes; send it in parts.`,
    );
  return places.reduce((sum, _, row) => sum + Number(count?.data[row] ?? 0), 0);
}

/** Throws for choices that a model which is no {@link CountedSignature}'s cannot heed. */
export function refuseCut({ maxTokens, maxDocumentTokens, refusesCut }: TextCut, model: string): void {
  const members = [
    ["truncate_prompt_tokens", maxTokens !== undefined],
    ["max_tokens_per_doc", maxDocumentTokens !== undefined],
    ["truncate", refusesCut === true],
  ] as const;
  const [wrong] = members.find(([, isGiven]) => isGiven) ?? [];
  if (wrong !== undefined)
    throw wrongMember(wrong, "a choice", `none: ${model} cuts texts as its own hooks or files say`);
}
