import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toDType } from "../../src/drivers/onnx/element-types.ts";
import type { DType } from "../../src/tensor/dtype.ts";
import { type Attribute, type ElementType, encodeModel, type OnnxNode } from "../../test/fixtures/make/onnx-writer.ts";
import { randomTrials } from "./random-trials.ts";
import type { Subject } from "./subject.ts";

/** One of ONNX Runtime's kernels, as write_onnx_kernels.py describes it. */
interface Kernel {
  readonly domain: string;
  readonly operator: string;
  readonly version: number;
  readonly inputs: readonly Parameter[];
  readonly outputs: readonly Parameter[];
  readonly attributes: Readonly<Record<string, { readonly kind: string; readonly required?: boolean }>>;
}

interface Parameter {
  readonly types: readonly string[];
  readonly option?: "optional" | "variadic";
}

/** Element types that requests have, by what ONNX calls them. */
const FIRST_TYPES = ["float32", "int64"] as const;
/** For attributes that an operator needs. */
const VALUES: Readonly<Record<string, Attribute>> = {
  int: 1,
  ints: [1],
  float: { float: 0.5 },
  floats: { floats: [0.5] },
  string: "a",
  strings: ["a"],
};
/** The last version of ONNX's own operators that all kernels have. */
const OPSET = 21;

/** Operators of ONNX Runtime's CPU kernels that ONNX's own suite has no case of, on inputs of random sizes. */
export function* kernelSubjects(options: Subject["options"], only: (operator: string) => boolean): Generator<Subject> {
  const kept = mkdtempSync(join(tmpdir(), "kernels-"));
  const path = new URL("onnx-kernels.json", import.meta.url);
  for (const kernel of JSON.parse(readFileSync(path, "utf8")) as Kernel[]) {
    if (!only(kernel.operator)) continue;
    const seen = new Set<string>();
    for (const first of FIRST_TYPES)
      for (const isWhole of [true, false]) {
        const types = typesOf(kernel, first, isWhole);
        if (types === undefined || seen.has(String(types))) continue;
        seen.add(String(types));
        const file = join(kept, `${kernel.domain}-${kernel.operator}-${seen.size}.onnx`);
        writeFileSync(file, modelOf(kernel, types));
        const operator = [kernel.domain, kernel.operator].filter(Boolean).join(":");
        const dtypes = types.map((type) => toDType(type)!);
        yield { operator, driver: "onnx", options, path: file, trials: randomTrials(operator, dtypes as DType[]) };
      }
  }
}

/** The types of an operator's inputs, with those that may be left out or without; undefined for what is no tensor. */
function typesOf({ inputs }: Kernel, first: string, isWhole: boolean): ElementType[] | undefined {
  const taken = isWhole ? inputs : inputs.filter(({ option }) => option !== "optional");
  const types = taken.flatMap(({ types, option }) => {
    const type = types.includes(first) ? first : types.find((name) => toDType(name) !== undefined);
    return option === "variadic" ? [type, type] : [type];
  });
  return types.length === 0 || types.includes(undefined) ? undefined : (types as ElementType[]);
}

function modelOf(
  { domain, operator, version, outputs, attributes }: Kernel,
  types: readonly ElementType[],
): Uint8Array {
  const needed = Object.entries(attributes).filter(([, { required }]) => required);
  const given = needed.flatMap(([name, { kind }]) => (kind in VALUES ? [[name, VALUES[kind]!] as const] : []));
  const made = outputs
    .filter(({ option }, index) => index === 0 || option === undefined)
    .map((_, index) => `out${index}`);
  const node: OnnxNode = {
    op: operator,
    domain,
    inputs: types.map((_, index) => `in${index}`),
    outputs: made,
    attributes: Object.fromEntries(given),
  };
  const inputs = types.map((elemType, index) => ({ name: `in${index}`, type: { elemType } }));
  const graph = { name: "graph", inputs, outputs: made.map((name) => ({ name })), nodes: [node] };
  return encodeModel({ opset: OPSET, ...(domain !== "" && { domains: { [domain]: version } }), graph });
}
