import { DEFAULT_SIGNATURE } from "../../signature/signature.ts";
import { FlatbufferTable } from "../tflite-format/flatbuffer-table.ts";
import { readTflite } from "../tflite-format/read-tflite.ts";
import {
  findSignatureDefs,
  readTfliteSignatures,
  type TfliteEnd,
  type TfliteSignature,
  tensorName,
} from "../tflite-format/tflite-signatures.ts";
import type { PortRole } from "./engine.ts";

/** Names of inputs and outputs by the names that OpenVINO has for them. */
export type TensorNames = Readonly<Record<PortRole, ReadonlyMap<string, string>>>;

/**
 * The names that a .tflite file's signatures give to the inputs and outputs of its first graph, which is the one that
 * OpenVINO runs; those of `serving_default`, or of the first signature. Throws `failed_precondition` for a damaged
 * file.
 */
export async function readTfliteNames(path: string): Promise<TensorNames> {
  const { buffer, byteOffset, byteLength } = readTflite(path);
  const model = FlatbufferTable.root(new DataView(buffer, byteOffset, byteLength));
  const signatures = readTfliteSignatures(model).filter(({ graph }) => graph === 0);
  const own = signatures.find(({ key }) => key === DEFAULT_SIGNATURE) ?? signatures[0];
  if (own === undefined) return { inputs: new Map(), outputs: new Map() };
  const metadata = findSignatureDefs(model);
  if (metadata !== undefined) return ofMetadata(metadata, own);
  return { inputs: byTensor(own.inputs), outputs: byTensor(own.outputs) };
}

function byTensor(ends: readonly TfliteEnd[]): ReadonlyMap<string, string> {
  return new Map(ends.map((end) => [tensorName(end), end.name]));
}

async function ofMetadata(metadata: Uint8Array, graph: TfliteSignature): Promise<TensorNames> {
  const { readSignatureDefs } = await import("../tensorflow/tflite/signature-defs.ts");
  const signatures = readSignatureDefs(metadata, graph);
  const chosen = signatures.get(DEFAULT_SIGNATURE) ?? [...signatures.values()][0];
  const byModelName = (role: PortRole) =>
    new Map(chosen?.[role].map(({ name, modelName }) => [modelName, name] as const));
  return { inputs: byModelName("inputs"), outputs: byModelName("outputs") };
}
