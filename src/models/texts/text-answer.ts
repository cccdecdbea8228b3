import { failedPrecondition } from "../../errors.ts";
import type { Signature, TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { EncodedTexts } from "../../text/encoded-texts.ts";
import { cutDimensions, normalise, numbersOf, pool } from "../../text/pooling.ts";
import type { TextTask, TextTaskKind } from "../../text/text-task.ts";
import type { TextInput } from "../../text/tokenizer.ts";
import { areLikeLengths } from "../queue/like-lengths.ts";
import type { TextChoices } from "./text-options.ts";

/** The texts of a run and their tokens. */
interface RunTexts {
  readonly texts: readonly TextInput[];
  readonly encoded: EncodedTexts;
}

/** The inputs and outputs of a model of texts, and the way from its own output to them. */
export interface TextAnswer {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** The model's output that is needed. */
  readonly takes: string;
  /** The answer to each text of a run: an array of values, whose meaning {@link toTensors} knows. */
  rowsOf(outputs: Tensors, run: RunTexts): readonly ArrayLike<unknown>[];
  toTensors(rows: readonly ArrayLike<unknown>[]): Tensors;
  /** One of these rows with as many numbers as its client wants, and zeros behind them; absent = it has them all. */
  cutTo?(row: ArrayLike<unknown>, dimensions: number): ArrayLike<unknown>;
}

type Specs = readonly TensorSpec[];
type Create = (task: TextTask, outputs: Specs, choices: TextChoices) => TextAnswer | undefined;

const TEXT: TensorSpec = { name: "text", dtype: "bytes", shape: [-1] };
const encoder = new TextEncoder();

const ANSWERS: Readonly<Record<TextTaskKind, Create>> = { embedding, scores, classes, entities };

/** Undefined if the model has no output that fits its task. */
export function createAnswer(
  task: TextTask,
  { outputs = [] }: Signature,
  choices: TextChoices,
): TextAnswer | undefined {
  return ANSWERS[task.kind](task, outputs, choices);
}

/** Outputs that have one vector for a text already, as exporters of sentence-transformers call them. */
const POOLED = ["sentence_embedding", "sentence_embeddings", "text_embeds", "embeddings"];

function embedding(task: TextTask, outputs: Specs, { dimensions }: TextChoices): TextAnswer | undefined {
  const pooled = outputs.find(({ name, shape }) => POOLED.includes(name) && shape?.length === 2);
  const taken = pooled ?? outputs.find(({ shape }) => shape?.length === 3);
  if (taken === undefined) return undefined;
  const size = taken.shape?.at(-1);
  const own = pooled === undefined && typeof size === "number" && size > 0 ? size * task.pooling.length : size;
  const width = typeof own === "number" && own > 0 ? own : (task.dimensions ?? -1);
  if (dimensions !== undefined && width !== -1 && dimensions > width)
    throw failedPrecondition(
      `The model's embeddings have ${width} dimensions; the option dimensions is ${dimensions}.`,
    );
  const toVectors = (output: Tensor, { attentionMask }: EncodedTexts) => {
    if (pooled === undefined) assertTokens(output, attentionMask);
    const whole = pooled === undefined ? pool(output, attentionMask, task.pooling) : asFloats(output);
    const cut = dimensions === undefined ? whole : cutDimensions(whole, dimensions);
    return task.normalises ? normalise(cut) : cut;
  };
  const given = { name: "embedding", dtype: "float32", shape: [-1, dimensions ?? width] } as const;
  return {
    inputs: [TEXT],
    outputs: [given],
    takes: taken.name,
    rowsOf: (all, { encoded }) => rowsOfMatrix(toVectors(outputOf(all, taken.name), encoded)),
    toTensors: (rows) => createTensors([["embedding", toMatrix(rows, dimensions ?? Math.max(0, width))]]),
    cutTo: (row, wanted) =>
      wanted === 0 || wanted >= row.length ? row : cutRow(row as Float32Array, wanted, task.normalises),
  };
}

function cutRow(row: Float32Array, dimensions: number, normalises: boolean): Float32Array {
  const first = createTensor("float32", [dimensions], row.slice(0, dimensions));
  const cut = new Float32Array(row.length);
  cut.set((normalises ? normalise(first) : first).data);
  return cut;
}

/** The model's own fault, and not the client's. */
function assertTokens({ shape }: Tensor, { shape: [rows, tokens] }: Tensor): void {
  if (shape.length === 3 && shape[0] === rows && shape[1] === tokens) return;
  throw failedPrecondition(
    `The model has given [${shape}] for ${rows} texts of ${tokens} tokens; expected a vector of each token.`,
  );
}

function logitsOf(outputs: Specs, rank: number): TensorSpec | undefined {
  const fitting = outputs.filter(({ shape }) => shape === undefined || shape.length === rank);
  return fitting.find(({ name }) => name === "logits") ?? fitting[0];
}

function scores({ activation }: TextTask, outputs: Specs): TextAnswer | undefined {
  const taken = logitsOf(outputs, 2);
  return (
    taken && {
      inputs: [TEXT, { ...TEXT, name: "text_pair" }],
      outputs: [{ name: "score", dtype: "float32", shape: [-1] }],
      takes: taken.name,
      rowsOf: (all) => rowsOfMatrix(asFloats(outputOf(all, taken.name))).map((row) => activate(row, activation)),
      toTensors: (rows) => {
        const all = Float32Array.from(rows, (row) => Number(row[0]));
        return createTensors([["score", createTensor("float32", [rows.length], all)]]);
      },
    }
  );
}

function classes({ activation, labels }: TextTask, outputs: Specs): TextAnswer | undefined {
  const taken = logitsOf(outputs, 2);
  if (taken === undefined) return undefined;
  const best = (given: ArrayLike<unknown>) => {
    const row = Array.from(given, Number);
    return row.indexOf(Math.max(...row));
  };
  return {
    inputs: [TEXT],
    outputs: [
      { name: "scores", dtype: "float32", shape: [-1, labels.length], labels },
      { name: "label", dtype: "bytes", shape: [-1] },
    ],
    takes: taken.name,
    rowsOf: (all) => rowsOfMatrix(asFloats(outputOf(all, taken.name))).map((row) => activate(row, activation)),
    toTensors: (rows) =>
      createTensors([
        ["scores", toMatrix(rows, labels.length)],
        ["label", texts(rows.map((row) => labels[best(row)] ?? String(best(row))))],
      ]),
  };
}

/** A part of a text, and what it is: the members that transformers' pipelines give. */
interface Entity {
  readonly entity_group: string;
  score: number;
  word: string;
  readonly start: number;
  end: number;
}

function entities({ labels, activation }: TextTask, outputs: Specs): TextAnswer | undefined {
  const taken = logitsOf(outputs, 3);
  if (taken === undefined) return undefined;
  return {
    inputs: [TEXT],
    outputs: [{ name: "entities", dtype: "bytes", shape: [-1] }],
    takes: taken.name,
    rowsOf: (all, { texts: given, encoded }) => {
      const output = outputOf(all, taken.name);
      const [, tokens = 0, width = 0] = output.shape;
      const values = numbersOf(output);
      return given.map((text, row) => {
        const scoresOf = (token: number) => {
          const start = (row * tokens + token) * width;
          return activate(Array.from(values.subarray(start, start + width)), activation);
        };
        const ranges = (encoded.offsets?.[row] ?? []).map((range, token) => ({ range, scores: () => scoresOf(token) }));
        return [JSON.stringify(joinEntities(String(text), ranges, labels))];
      });
    },
    toTensors: (rows) => createTensors([["entities", texts(rows.map((row) => String(row[0])))]]),
  };
}

interface ScoredToken {
  readonly range: readonly [number, number];
  readonly scores: () => readonly number[];
}

/** Neighbours with one label are one entity, unless the second begins another (`B-`); O is none. */
function joinEntities(text: string, tokens: readonly ScoredToken[], labels: readonly string[]): readonly Entity[] {
  const found: Entity[] = [];
  const counts: number[] = [];
  let before = "O";
  for (const { range, scores: scoresOf } of tokens) {
    const [start, end] = range;
    if (end === start) continue;
    const row = scoresOf();
    const score = Math.max(...row);
    const label = labels[row.indexOf(score)] ?? "O";
    const group = label.replace(/^[BI]-/, "");
    const last = found.at(-1);
    if (label !== "O" && last?.entity_group === group && before === group && !label.startsWith("B-")) {
      const count = counts.pop() ?? 1;
      last.score = (last.score * count + score) / (count + 1);
      last.end = end;
      last.word = text.slice(last.start, end);
      counts.push(count + 1);
    } else if (label !== "O") {
      found.push({ entity_group: group, score, word: text.slice(start, end), start, end });
      counts.push(1);
    }
    before = label === "O" ? "O" : group;
  }
  return found;
}

function activate(given: ArrayLike<number>, activation: TextTask["activation"]): readonly number[] {
  const row = Array.from(given);
  if (activation === "none") return row;
  if (activation === "sigmoid") return row.map((value) => 1 / (1 + Math.exp(-value)));
  if (activation === "tanh") return row.map((value) => Math.tanh(value));
  const most = Math.max(...row);
  const powers = row.map((value) => Math.exp(value - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function outputOf(outputs: Tensors, name: string): Tensor {
  const tensor = outputs[name];
  if (tensor !== undefined) return tensor;
  throw failedPrecondition(`The model has given no output "${name}".`);
}

function asFloats(tensor: Tensor): Tensor<"float32"> {
  return createTensor("float32", tensor.shape, Float32Array.from(numbersOf(tensor)));
}

/** Views of the rows: a hundred thousand vectors need no second copy. */
function rowsOfMatrix({ shape, data }: Tensor<"float32">): readonly Float32Array[] {
  const [rows = 0] = shape;
  const width = rows === 0 ? 0 : data.length / rows;
  return Array.from({ length: rows }, (_, row) => data.subarray(row * width, (row + 1) * width));
}

/** `width` is that of a matrix without rows. */
function toMatrix(rows: readonly ArrayLike<unknown>[], width: number): Tensor<"float32"> {
  const columns = rows[0]?.length ?? width;
  const data = new Float32Array(rows.length * columns);
  for (const [row, values] of rows.entries()) data.set(values as ArrayLike<number>, row * columns);
  return createTensor("float32", [rows.length, columns], data);
}

function texts(all: readonly string[]): Tensor<"bytes"> {
  return createTensor(
    "bytes",
    [all.length],
    all.map((text) => encoder.encode(text)),
  );
}

/** Limits of the texts that run together. */
interface GroupLimits {
  /** Rows that each run has; absent = any number. */
  readonly rows: number | undefined;
  /** Bytes of a text that count. */
  readonly bytes: number;
  /** True if a run has so many rows, or each row so many tokens, whatever the texts are. */
  readonly isFixed: boolean;
  /** Tokens to which a text, and a second one, is cut, by its place: those of a run are cut alike. Absent = all are. */
  cutOf?(place: number): readonly number[];
}

/** Rows of a run at most. */
const RUN_ROWS = 32;
/**
 * Bytes of a run's rows at most, each as long as the longest: 32 of 512 tokens. Models of longer texts would need
 * gigabytes for as many, and gain nothing by it. One row may have more.
 */
const RUN_BYTES = 96 * 1024;

/** The places of texts that run together: of like lengths, and not too many. */
export function groupsOf(texts: readonly TextInput[], limits: GroupLimits): readonly (readonly number[])[] {
  const { rows = RUN_ROWS, bytes, isFixed, cutOf = () => [] } = limits;
  const lengths = texts.map((text) => Math.min(lengthOf(text), bytes));
  const cuts = texts.map((_, place) => cutOf(place));
  const byCut = (one: number, other: number) =>
    (cuts[one] ?? []).reduce((found, cut, at) => found || cut - (cuts[other]?.[at] ?? 0), 0);
  const groups: number[][] = [];
  let [shortest, group]: [number, number[]] = [0, []];
  const inOrder = (one: number, other: number) => byCut(one, other) || (lengths[one] ?? 0) - (lengths[other] ?? 0);
  for (const place of [...lengths.keys()].sort(inOrder)) {
    const length = lengths[place] ?? 0;
    const isAlike = isFixed || (areLikeLengths(shortest, length) && (group.length + 1) * length <= RUN_BYTES);
    const [first] = group;
    if (first !== undefined && group.length < rows && isAlike && byCut(first, place) === 0) group.push(place);
    else {
      [shortest, group] = [length, [place]];
      groups.push(group);
    }
  }
  return groups;
}

/** Bytes of a text, or of both of a pair. */
function lengthOf(text: TextInput): number {
  return [text].flat().reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}
