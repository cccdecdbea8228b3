import { invalidArgument } from "../../errors.ts";
import type { LooseSpec } from "../../signature/signature.ts";
import { DTYPES, type DType, isDType } from "../../tensor/dtype.ts";
import { didYouMean } from "../../text/nearest.ts";

const EXPECTED = "expected name, name:dtype, name[2,-1] or name:dtype[2,-1], separated by commas";
const ONE = /^(?<name>[^\s:,[\]]+)(?::(?<dtype>\w+))?(?:\[(?<shape>[^\]]*)\])?$/;

/** Reads the option `inputs`, such as `x:float32[-1,4],mask`; throws `invalid_argument` with the error. */
export function parseSpecs(text: string): LooseSpec[] {
  // Commas within brackets belong to a shape.
  const specs = text.split(/,(?![^[]*\])/).map((part) => parseSpec(part.trim()));
  const twice = specs.find(({ name }, index) => specs.findIndex((each) => each.name === name) !== index);
  if (twice !== undefined) throw invalidArgument(`Option "inputs" has "${twice.name}" twice.`);
  return specs;
}

/** Reads the option `outputs`; throws `invalid_argument` for an empty name. */
export function parseNames(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw invalidArgument(`Option "outputs" is "${text}"; expected names separated by commas.`);
  return names;
}

function parseSpec(text: string): LooseSpec {
  const { name, dtype, shape } = ONE.exec(text)?.groups ?? {};
  if (name === undefined) throw invalidArgument(`Option "inputs" has "${text}"; ${EXPECTED}.`);
  const known = dtype === undefined ? { name } : { name, dtype: parseDType(dtype, name) };
  return shape === undefined ? known : { ...known, shape: parseShape(shape, text) };
}

function parseDType(text: string, name: string): DType {
  if (isDType(text)) return text;
  throw invalidArgument(
    `Option "inputs" gives "${name}" the dtype "${text}".${didYouMean(text, DTYPES)} ${DTYPES_ARE}`,
  );
}

function parseShape(text: string, whole: string): number[] {
  if (text.trim() === "") return [];
  const sizes = text.split(",").map(Number);
  if (sizes.every((size) => Number.isInteger(size) && size >= -1)) return sizes;
  throw invalidArgument(`Option "inputs" has "${whole}"; expected sizes of 0 or more, or -1 for any.`);
}

const DTYPES_ARE = `Expected one of ${DTYPES.join(", ")}.`;
