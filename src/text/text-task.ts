import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { failedPrecondition } from "../errors.ts";
import { isObject } from "../tensor/record.ts";
import { listOf } from "./normalizers.ts";
import { POOLING_KINDS, type PoolingKind } from "./pooling.ts";
import {
  type Config,
  mostTokens,
  numberOf,
  readJson,
  readJsonFile,
  readSentenceConfig,
  SENTENCE_CONFIGS,
} from "./tokenizer-files.ts";
import { modulesFolder, tokenizerFolder } from "./tokenizer-folder.ts";

/** The use of a model of texts: vectors, scores of pairs, classes of texts, or of their words. */
export type TextTaskKind = "embedding" | "scores" | "classes" | "entities";

/** A text before its tokens are found: behind a prompt, without white space around it, and perhaps in lower case. */
export interface PreparedText {
  readonly prompt: string;
  readonly lowers: boolean;
}

/** The use of a model of texts, as the files beside it tell. */
export interface TextTask {
  readonly kind: TextTaskKind;
  /** The folder with `tokenizer.json`. */
  readonly folder: string;
  /** The way to make one vector of those of tokens; of embeddings alone. */
  readonly pooling: readonly PoolingKind[];
  /** True if vectors get a length of 1. */
  readonly normalises: boolean;
  /** Numbers of a vector, as far as the files say; of embeddings alone. */
  readonly dimensions?: number;
  /** True if the first of them alone are vectors, too (Matryoshka), as the files say. */
  readonly isMatryoshka: boolean;
  /** Tokens of a text at most, special ones included. */
  readonly maxTokens?: number;
  /** Names of classes, by index. */
  readonly labels: readonly string[];
  /** The function that makes scores of the model's numbers. */
  readonly activation: "sigmoid" | "tanh" | "softmax" | "none";
  /** The changes that sentence-transformers makes to a text first; absent for other models. */
  readonly prepares?: PreparedText;
  /** The file that said what it is for. */
  readonly source: string;
}

/**
 * Reads what a model is for that lies beside a `tokenizer.json` and a `config.json`, as transformers and
 * sentence-transformers write them; undefined for every other model. Throws `failed_precondition` for files that are
 * damaged.
 */
export async function readTextTask(path: string): Promise<TextTask | undefined> {
  const folder = tokenizerFolder(path);
  if (folder === undefined) return undefined;
  const config = await readJsonFile(join(folder, "config.json"));
  if (config === undefined) return undefined;
  const tokenizer = (await readJsonFile(join(folder, "tokenizer_config.json"))) ?? {};
  const task = (await embeddingTask(folder, config)) ?? classifierTask(config);
  const maxTokens = mostTokens(config, tokenizer, await readSentenceConfig(folder));
  // The names that vLLM reads, which no other program writes.
  const isMatryoshka = config.is_matryoshka === true || listOf(config.matryoshka_dimensions).length > 0;
  return task && { folder, ...task, isMatryoshka, ...(maxTokens !== undefined && { maxTokens }) };
}

/** The encoders that a plain `config.json` is believed of; a name in `architectures` says too little. */
export const ENCODERS: readonly unknown[] = [
  ...["albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "new"],
  ...["nomic_bert", "roberta", "xlm-roberta", "xlm-roberta-xl"],
];

type FoundTask = Omit<TextTask, "folder" | "maxTokens" | "isMatryoshka">;
const NOTHING = { pooling: [], normalises: false, labels: [], activation: "none" } as const;

/** By sentence-transformers' files, else for an encoder without a head its own default: the mean of the tokens. */
async function embeddingTask(folder: string, config: Config): Promise<FoundTask | undefined> {
  // DistilBERT's name for it is the second.
  const dimensions = numberOf(config.hidden_size) ?? numberOf(config.dim);
  const sizes = dimensions === undefined ? {} : { dimensions };
  const base = { ...NOTHING, ...sizes, kind: "embedding" } as const;
  const whole = modulesFolder(folder);
  const modules = await readModules(whole);
  if (modules !== undefined) {
    const isKnown = modules.every(({ type }) => ["Transformer", "Pooling", "Normalize"].includes(type));
    const pooling = modules.find(({ type }) => type === "Pooling");
    if (!isKnown || pooling === undefined) return undefined;
    const kinds = await readPooling(join(whole, pooling.path));
    const all = dimensions === undefined ? {} : { dimensions: dimensions * kinds.length };
    const normalises = modules.some(({ type }) => type === "Normalize");
    const prepares = await readPreparation(folder, join(whole, pooling.path));
    return { ...base, ...all, pooling: kinds, normalises, prepares, source: "modules.json" };
  }
  const isEncoder = ENCODERS.includes(config.model_type) && config.is_decoder !== true;
  const isPlain = architecturesOf(config).some((name) => /^(?!.*(?:LMHead|CausalLM)).*Model$/.test(name));
  return isEncoder && isPlain && config.is_encoder_decoder !== true
    ? { ...base, pooling: ["mean"], source: "config.json" }
    : undefined;
}

/** Files that a model of texts, and its tokenizer, may have beside the model. */
const FILES = [
  ...["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "config.json"],
  ...["modules.json", ...SENTENCE_CONFIGS, "config_sentence_transformers.json"],
];

/** Files and folders that a model of texts needs beside its own, the folders with a slash; none for other models. */
export async function filesOfTexts(path: string): Promise<readonly string[]> {
  const folder = tokenizerFolder(path);
  if (folder === undefined) return [];
  const whole = modulesFolder(folder);
  const modules = (await readModules(whole)) ?? [];
  const folders = modules.flatMap(({ path: own }) => (own === "" ? [] : [`${own.split("/")[0]}/`]));
  const there = (name: string) => existsSync(join(whole, name));
  return [...FILES, ...new Set(folders)].filter(there).map((name) => join(whole, name));
}

interface Module {
  readonly type: string;
  readonly path: string;
}

/**
 * The steps of a model of sentence-transformers; undefined for other models. Throws `failed_precondition` for folders
 * elsewhere: the file may be downloaded, and an image gets what it names.
 */
async function readModules(folder: string): Promise<readonly Module[] | undefined> {
  const path = join(folder, "modules.json");
  const list = await readJson(path);
  return list === undefined
    ? undefined
    : listOf(list).map((module) => {
        const { type, path: given } = isObject(module) ? module : {};
        const place = typeof given === "string" ? given : "";
        if (isElsewhere(place))
          throw failedPrecondition(`${path} names "${place.slice(0, 100)}"; expected folders beside it alone.`);
        return { type: String(type).split(".").at(-1) ?? "", path: place };
      });
}

function isElsewhere(place: string): boolean {
  return isAbsolute(place) || /^[A-Za-z]:|\\/.test(place) || place.split("/").some((name) => /^\.{1,2}$/.test(name));
}

/** Names of older files, `pooling_mode_…`, by kind. */
const OLD_NAMES: Readonly<Record<PoolingKind, string>> = {
  cls: "cls_token",
  lasttoken: "lasttoken",
  max: "max_tokens",
  mean: "mean_tokens",
  mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  weightedmean: "weightedmean_tokens",
};

/** In the order in which sentence-transformers puts several of them behind each other. */
const ORDER: readonly PoolingKind[] = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"];

async function readPooling(folder: string): Promise<readonly PoolingKind[]> {
  const path = join(folder, "config.json");
  const config = await readJsonFile(path);
  if (config === undefined) throw failedPrecondition(`${path} does not exist, to which modules.json points.`);
  const named = [config.pooling_mode].flat();
  const kinds = ORDER.filter((kind) => named.includes(kind) || config[`pooling_mode_${OLD_NAMES[kind]}`] === true);
  if (kinds.length > 0) return kinds;
  throw failedPrecondition(
    `${path} names no way of pooling that is known; expected one of ${POOLING_KINDS.join(", ")}.`,
  );
}

async function readPreparation(folder: string, pooling: string): Promise<PreparedText> {
  const lowers = (await readSentenceConfig(folder)).do_lower_case === true;
  const path = join(modulesFolder(folder), "config_sentence_transformers.json");
  const { default_prompt_name: name, prompts } = (await readJsonFile(path)) ?? {};
  if (typeof name !== "string") return { prompt: "", lowers };
  const prompt = isObject(prompts) ? prompts[name] : undefined;
  if (typeof prompt !== "string")
    throw failedPrecondition(`${path} has no prompt "${name.slice(0, 100)}", its default.`);
  const { include_prompt: isPooled } = (await readJsonFile(join(pooling, "config.json"))) ?? {};
  if (prompt === "" || isPooled !== false) return { prompt, lowers };
  throw failedPrecondition(`${path} has a prompt that is not pooled; expected a model without include_prompt: false.`);
}

/** By the architecture, and for classes of texts by what they exclude. */
function classifierTask(config: Config): FoundTask | undefined {
  const names = config.is_encoder_decoder === true ? [] : architecturesOf(config);
  const labels = labelsOf(config);
  const base = { ...NOTHING, labels, source: "config.json" };
  if (names.some((name) => name.endsWith("ForTokenClassification")))
    return { ...base, kind: "entities", activation: "softmax" };
  if (!names.some((name) => name.endsWith("ForSequenceClassification"))) return undefined;
  const { sentence_transformers: trained } = config;
  // Older cross-encoders have the second key.
  const named = (isObject(trained) ? trained.activation_fn : undefined) ?? config.sbert_ce_default_activation_function;
  if (labels.length === 1) return { ...base, kind: "scores", labels: [], activation: activationOf(named) };
  const activations: Readonly<Record<string, FoundTask["activation"]>> = {
    multi_label_classification: "sigmoid",
    regression: "none",
  };
  return { ...base, kind: "classes", activation: activations[String(config.problem_type)] ?? "softmax" };
}

/** Those of cross-encoders, by the names of PyTorch's modules. */
const ACTIVATIONS: Readonly<Record<string, FoundTask["activation"]>> = {
  Identity: "none",
  Sigmoid: "sigmoid",
  Tanh: "tanh",
};

function activationOf(named: unknown): FoundTask["activation"] {
  if (named === undefined || named === null) return "sigmoid";
  const name = typeof named === "string" ? named.slice(named.lastIndexOf(".") + 1) : "";
  const known = Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : undefined;
  if (known !== undefined) return known;
  const expected = Object.keys(ACTIVATIONS).join(", ");
  throw failedPrecondition(
    `config.json has the activation ${String(named).slice(0, 100)}, which is not known; expected one of ${expected}.`,
  );
}

function architecturesOf({ architectures }: Config): readonly string[] {
  return listOf(architectures).filter((name) => typeof name === "string");
}

/** transformers has two classes where a file names none. */
function labelsOf({ id2label: named, num_labels: count }: Config): readonly string[] {
  if (!isObject(named)) return Array.from({ length: numberOf(count) ?? 2 }, (_, index) => `LABEL_${index}`);
  const labels = Object.entries(named).sort(([one], [other]) => Number(one) - Number(other));
  return labels.map(([, label]) => String(label));
}
