import { guessExamples } from "../../signature/guess-examples.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { takesImages } from "../../signature/takes-images.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { datatypeOf } from "./datatype.ts";

/** More elements are not read by people. */
const MAX_ELEMENTS = 100;
/** PNGs of one pixel, with one channel and with three. */
const GREY = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const COLOUR = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNoaGgAAAMEAYFL09IQAAAAAElFTkSuQmCC";

/** An input of a request as people may send it; undefined where it would be too long to be read. */
export function exampleInput(spec: TensorSpec): object | undefined {
  const { name, dtype } = spec;
  if (takesImages(spec))
    return { name, datatype: "BYTES", shape: [1], data: [{ b64: hasOneChannel(spec) ? GREY : COLOUR }] };
  const [example] = guessExamples([spec]);
  const datatype = datatypeOf(dtype)?.name;
  const count = elementCount(example?.shape ?? []);
  if (datatype === undefined || count > MAX_ELEMENTS) return undefined;
  const element = dtype === "bytes" ? "a" : dtype === "bool" ? true : 1;
  return { name, datatype, shape: example?.shape, data: new Array(count).fill(element) };
}

/** Channels come last, or before height and width. */
function hasOneChannel({ shape: [, second, , last] = [] }: TensorSpec): boolean {
  return last === 1 || (second === 1 && last !== 3);
}
