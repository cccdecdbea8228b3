import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { datatypeNamed, datatypeOf } from "../../protocols/kserve/datatype.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { toNested } from "../../tensor/nested.ts";
import { toTensors } from "../../tensor/plain-value.ts";
import { createTensors, type Tensor } from "../../tensor/tensor.ts";
import { randomTensors } from "../commands/random-inputs.ts";
import type { Target } from "./target.ts";
import { parseExactJson, tensorFromJson } from "./tensor-from-json.ts";

/** An input or output as KServe V2 describes it. */
interface Described {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** A model of a server that answers KServe V2 over HTTP, as this one and Triton do; `url` ends with `/v2/models/NAME`. */
export async function openRemoteTarget(url: string): Promise<Target> {
  if (!/^https?:\/\/[^/]+\/(?:.*\/)?v2\/models\/[^/]+(?:\/versions\/\d+)?$/.test(url))
    throw invalidArgument(`The address is "${url}"; expected http://HOST:PORT/v2/models/NAME.`);
  const { inputs = [] } = (await ask(url)) as { readonly inputs?: readonly Described[] };
  const specs = inputs.map(toSpec);
  return {
    name: url,
    signature: { inputs: specs },
    examples: async (seed) => randomTensors(specs.map(toExample), seed),
    predict: async (values) => {
      const tensors = toTensors(values, (name) => specs.find((spec) => spec.name === name)?.dtype);
      const body = JSON.stringify({ inputs: Object.entries(tensors).map(([name, tensor]) => toInput(name, tensor)) });
      const { outputs = [] } = (await ask(`${url}/infer`, body)) as { readonly outputs?: readonly Described[] };
      return createTensors(
        outputs.map((output) => [output.name, tensorFromJson(output.name, { ...output, dtype: typeOf(output) })]),
      );
    },
    close: async () => {},
  };
}

function typeOf({ datatype }: Described) {
  return datatypeNamed(datatype)?.dtype ?? datatype;
}

function toSpec({ name, datatype, shape }: Described): TensorSpec {
  const dtype = datatypeNamed(datatype)?.dtype;
  if (dtype === undefined) throw failedPrecondition(`The input "${name}" is ${datatype}, which is not known.`);
  return { name, dtype, shape };
}

function toExample({ name, dtype, shape = [] }: TensorSpec) {
  const sizes = shape.map((size) => (typeof size === "number" && size >= 0 ? size : 1));
  return { name, dtype, shape: sizes, element: dtype === "bytes" ? Buffer.from("a") : 1 } as const;
}

function toInput(name: string, tensor: Tensor) {
  const leaf = (element: unknown) =>
    element instanceof Uint8Array
      ? Buffer.from(element).toString()
      : typeof element === "bigint"
        ? Number(element)
        : element;
  return { name, datatype: datatypeOf(tensor.dtype)?.name, shape: tensor.shape, data: toNested(tensor, leaf) };
}

async function ask(url: string, body?: string): Promise<unknown> {
  const answer = await fetch(url, body === undefined ? {} : { method: "POST", body }).catch((cause) => {
    throw failedPrecondition(`${url} does not answer: ${reasonText(cause.cause ?? cause)}.`, cause);
  });
  const text = await answer.text();
  if (answer.ok) return parseExactJson(text);
  throw failedPrecondition(`${url} answers with status ${answer.status}: ${text.slice(0, 300)}`);
}
