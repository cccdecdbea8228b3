import { guessExamples } from "../../signature/example-inputs.ts";
import { type TensorSpec, takesImages } from "../../signature/signature.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { exampleImage } from "../example-values.ts";
import { datatypeOf } from "./datatype.ts";

/** More elements are not read by people. */
const MAX_ELEMENTS = 100;

/** An input of a request as people may send it; undefined where it would be too long to be read. */
export function exampleInput(spec: TensorSpec): object | undefined {
  const { name, dtype } = spec;
  if (takesImages(spec)) return { name, datatype: "BYTES", shape: [1], data: [{ b64: exampleImage(spec) }] };
  const [example] = guessExamples([spec]);
  const datatype = datatypeOf(dtype)?.name;
  const count = elementCount(example?.shape ?? []);
  if (datatype === undefined || count > MAX_ELEMENTS) return undefined;
  const element = dtype === "bytes" ? "a" : dtype === "bool" ? true : 1;
  return { name, datatype, shape: example?.shape, data: new Array(count).fill(element) };
}
