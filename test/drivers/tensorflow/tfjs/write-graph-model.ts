import { writeFileSync } from "node:fs";

/** A graph model as tests write it down; nodes are as in protobuf's JSON. */
export interface GraphModelJson {
  readonly nodes: readonly {
    readonly name: string;
    readonly op: string;
    readonly input?: readonly string[];
    readonly attr?: Readonly<Record<string, unknown>>;
  }[];
  /** Lists of float32 by name. */
  readonly weights: Readonly<Record<string, readonly number[]>>;
  /** Tensors by key; those without a dtype are float32. */
  readonly signature?: Readonly<Record<"inputs" | "outputs", Readonly<Record<string, string | TensorJson>>>>;
}

/** A tensor of a signature. */
interface TensorJson {
  readonly name: string;
  readonly dtype: string;
}

/** Writes model.json and w.bin into a folder; returns the path of the first. */
export function writeGraphModel(folder: string, { nodes, weights, signature }: GraphModelJson): string {
  const entries = Object.entries(weights);
  const specs = entries.map(([name, values]) => ({ name, shape: [values.length], dtype: "float32" }));
  const infoOf = (tensor: string | TensorJson) =>
    typeof tensor === "string" ? { name: tensor, dtype: "DT_FLOAT" } : tensor;
  const infos = (tensors: Readonly<Record<string, string | TensorJson>> = {}) =>
    Object.fromEntries(Object.entries(tensors).map(([key, tensor]) => [key, infoOf(tensor)]));
  const model = {
    format: "graph-model",
    modelTopology: { node: nodes, versions: { producer: 1 }, library: {} },
    weightsManifest: [{ paths: ["w.bin"], weights: specs }],
    ...(signature && { signature: { inputs: infos(signature.inputs), outputs: infos(signature.outputs) } }),
  };
  writeFileSync(`${folder}/w.bin`, new Uint8Array(Float32Array.from(entries.flatMap(([, values]) => values)).buffer));
  writeFileSync(`${folder}/model.json`, JSON.stringify(model));
  return `${folder}/model.json`;
}
