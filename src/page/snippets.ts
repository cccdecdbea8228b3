import { countOf, type Element, type FormTensor } from "./form-tensor.ts";
import { type Part, type Program, writeCurl, writeGo, writePython, writeTypeScript } from "./programs.ts";

/** A program's language. */
export const LANGUAGES = ["curl", "Python", "TypeScript", "Go"] as const;
/** One of {@link LANGUAGES}. */
export type Language = (typeof LANGUAGES)[number];

/** The request that programs are to send. */
export interface SentRequest {
  /** The server's address, with a slash at its end. */
  readonly base: string;
  readonly model: string;
  readonly version: string;
  readonly inputs: readonly FormTensor[];
  /** True if the page has credentials, of which a program gets no copy but a place for its own. */
  readonly isSignedIn: boolean;
}

const WRITERS: Readonly<Record<Language, (program: Program) => string>> = {
  curl: writeCurl,
  Python: writePython,
  TypeScript: writeTypeScript,
  Go: writeGo,
};

/** Above so many equal values a loop is written. */
const MAX_EQUAL = 24;

/** A program that sends the request, with nothing but what comes with the language. */
export function snippet(language: Language, request: SentRequest): string {
  const hasFile = request.inputs.some(({ file }) => file !== undefined);
  const path = `${encodeURIComponent(request.model)}/versions/${request.version}`;
  // Files go as base64, which TensorFlow Serving's protocol has a form for.
  const url = `${request.base}${hasFile ? `v1/models/${path}:predict` : `v2/models/${path}/infer`}`;
  const parts = merge(hasFile ? tensorflowBody(request.inputs) : kserveBody(request.inputs));
  return WRITERS[language]({ url, parts, needsCredentials: request.isSignedIn });
}

function kserveBody(inputs: readonly FormTensor[]): readonly Part[] {
  const items = inputs.map(({ name, datatype, shape, values }) => [
    `{"name": ${JSON.stringify(name)}, "datatype": "${datatype}", "shape": ${JSON.stringify(shape)}, "data": `,
    ...flat(values),
    "}",
  ]);
  return ['{"inputs": [', ...joined(items), "]}"];
}

function tensorflowBody(inputs: readonly FormTensor[]): readonly Part[] {
  const items = inputs.map(({ name, shape, values, file }) => [
    `${JSON.stringify(name)}: `,
    ...(file === undefined ? nested(shape, values) : fileParts(shape.length, file, typeof values[0] === "string")),
  ]);
  return ['{"inputs": {', ...joined(items), "}}"];
}

/** A file alone is a value, or a list of one; in more dimensions it has all its brackets. A text goes as it is. */
function fileParts(rank: number, file: string, isText: boolean): readonly Part[] {
  const depth = isText || rank > 1 ? rank : 0;
  const [before, after] = isText ? ['"', '"'] : ['{"b64": "', '"}'];
  return ["[".repeat(depth) + before, { file, isUrlSafe: isText }, after + "]".repeat(depth)];
}

function joined(items: readonly (readonly Part[])[]): readonly Part[] {
  return items.flatMap((item, index) => (index === 0 ? item : [", ", ...item]));
}

function flat(values: readonly Element[]): readonly Part[] {
  const [first] = values;
  if (values.length > MAX_EQUAL && values.every((value) => value === first))
    return ["[", { fill: literal(first as Element), count: values.length }, "]"];
  return [`[${values.map(literal).join(", ")}]`];
}

function nested(shape: readonly number[], values: readonly Element[]): readonly Part[] {
  if (shape.length === 0) return [literal(values[0] as Element)];
  if (shape.length === 1) return flat(values);
  const [rows = 0, ...row] = shape;
  const size = countOf(row);
  return [
    "[",
    ...joined(Array.from({ length: rows }, (_, at) => nested(row, values.slice(at * size, (at + 1) * size)))),
    "]",
  ];
}

function literal(value: Element): string {
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value instanceof Uint8Array ? new TextDecoder().decode(value) : value);
}

/** Neighbouring texts as one. */
function merge(parts: readonly Part[]): readonly Part[] {
  const merged: Part[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === "string" && typeof last === "string") merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  return merged;
}
