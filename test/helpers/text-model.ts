import { encodeModel, type OnnxGraph } from "../fixtures/make/onnx-writer.ts";

interface ToyTokenizer {
  /** Members of tokenizer.json. */
  readonly json?: object;
  readonly config?: object;
}

const VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "##ly", ".", "great", "awful"];

/** The files of a tokenizer of ten words: 2 is in front of a text, 3 behind it, 4 is "good", 5 is "bad". */
export function toyTokenizer({ json = {}, config = {} }: ToyTokenizer = {}): Record<string, string> {
  const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map((content, id) => ({ id, content, special: true }));
  const tokenizer = {
    added_tokens: special,
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: { type: "BertProcessing", cls: ["[CLS]", 2], sep: ["[SEP]", 3] },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      vocab: Object.fromEntries(VOCABULARY.map((token, id) => [token, id])),
    },
    ...json,
  };
  return {
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify({ pad_token: "[PAD]", ...config }),
  };
}

/** The output of a toy model: a vector of each token, or the mean of them all. */
type Head = "tokens" | "mean";

interface ToyEncoder {
  readonly head?: Head;
  /** Numbers of each token's vector, a row for each of the vocabulary. */
  readonly table: readonly (readonly number[])[];
  readonly output?: string;
  /** Names of its inputs, of which it takes the first into account. Default `input_ids`, `attention_mask`. */
  readonly inputs?: readonly string[];
  /** Rows and tokens of a run. Default: any. */
  readonly shape?: readonly (string | number)[];
}

/** A model of texts: a table of vectors, by the number of the token. */
export function toyEncoder(given: ToyEncoder): Uint8Array {
  const { head = "tokens", table, output = "last_hidden_state", shape = ["batch", "tokens"] } = given;
  const { inputs = ["input_ids", "attention_mask"] } = given;
  const width = table[0]?.length ?? 0;
  const ids = (name: string) => ({ name, type: { elemType: "int64", shape: [...shape] } }) as const;
  const found = head === "tokens" ? output : "vectors";
  const mean = { op: "ReduceMean", inputs: ["vectors"], outputs: [output], attributes: { axes: [1], keepdims: 0 } };
  const graph: OnnxGraph = {
    name: "encoder",
    inputs: inputs.map(ids),
    outputs: [
      {
        name: output,
        type: { elemType: "float32", shape: head === "tokens" ? [...shape, width] : [shape[0] ?? "batch", width] },
      },
    ],
    initializers: [
      { name: "table", dtype: "float32", shape: [table.length, width], data: Float32Array.from(table.flat()) },
    ],
    nodes: [{ op: "Gather", inputs: ["table", "input_ids"], outputs: [found] }, ...(head === "mean" ? [mean] : [])],
  };
  return encodeModel({ opset: 13, graph });
}

/** A table for {@link toyEncoder}: a row for each word, the others zeros. */
export function tableOf(rows: Readonly<Record<string, readonly number[]>>): readonly (readonly number[])[] {
  const width = Object.values(rows)[0]?.length ?? 0;
  return VOCABULARY.map((word) => rows[word] ?? new Array<number>(width).fill(0));
}
