import { countOf, type Element, type FormTensor } from "./form-tensor.ts";

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
}

/** A part of a body as each language writes it: JSON, a file in base64, or the same value many times. */
type Part = string | { readonly file: string } | { readonly fill: string; readonly count: number };

/** Above so many equal values a loop is written. */
const MAX_EQUAL = 24;

/** A program that sends the request, with nothing but what comes with the language. */
export function snippet(language: Language, request: SentRequest): string {
  const hasFile = request.inputs.some(({ file }) => file !== undefined);
  const path = `${encodeURIComponent(request.model)}/versions/${request.version}`;
  // Files go as base64, which TensorFlow Serving's protocol has a form for.
  const url = `${request.base}${hasFile ? `v1/models/${path}:predict` : `v2/models/${path}/infer`}`;
  const parts = merge(hasFile ? tensorflowBody(request.inputs) : kserveBody(request.inputs));
  return WRITERS[language](url, parts);
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
    ...(file === undefined ? nested(shape, values) : ['{"b64": "', { file }, '"}']),
  ]);
  return ['{"inputs": {', ...joined(items), "}}"];
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

const WRITERS: Readonly<Record<Language, (url: string, parts: readonly Part[]) => string>> = {
  curl: (url, parts) => {
    const [only] = parts;
    if (parts.length === 1) return `curl ${url} -d ${quoted(only as string)}\n`;
    const words = parts.map((part) => {
      if (typeof part === "string") return quoted(part);
      return "file" in part
        ? `"$(base64 < ${quoted(part.file)} | tr -d '\\n')"`
        : `"$(yes ${quoted(part.fill)} | head -n ${part.count} | paste -sd, -)"`;
    });
    return `printf %s ${words.join("")} |\n  curl ${url} -d @-\n`;
  },
  Python: (url, parts) => {
    const write = (part: Exclude<Part, string>) =>
      "file" in part
        ? `base64.b64encode(open(${JSON.stringify(part.file)}, "rb").read()).decode()`
        : `",".join([${JSON.stringify(part.fill)}] * ${part.count})`;
    return `import base64, json, urllib.request

body = ${expression(parts, write, pythonText)}
request = urllib.request.Request(${JSON.stringify(url)}, body.encode(), {"Content-Type": "application/json"})
print(json.load(urllib.request.urlopen(request)))
`;
  },
  TypeScript: (url, parts) => {
    const write = (part: Exclude<Part, string>) =>
      "file" in part
        ? `readFileSync(${JSON.stringify(part.file)}, "base64")`
        : `Array(${part.count}).fill(${JSON.stringify(part.fill)}).join()`;
    const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
    return `${needsFiles ? 'import { readFileSync } from "node:fs";\n\n' : ""}const body = ${expression(parts, write)};
const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});
console.log(await response.text());
`;
  },
  Go: (url, parts) => {
    const write = (part: Exclude<Part, string>) =>
      "file" in part
        ? `file(${JSON.stringify(part.file)})`
        : `strings.Repeat(${JSON.stringify(`${part.fill},`)}, ${part.count - 1}) + ${JSON.stringify(part.fill)}`;
    const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
    return `package main

import (
${needsFiles ? '\t"encoding/base64"\n' : ""}\t"io"
\t"net/http"
\t"os"
\t"strings"
)
${needsFiles ? "\nfunc file(name string) string {\n\tbytes, err := os.ReadFile(name)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\treturn base64.StdEncoding.EncodeToString(bytes)\n}\n" : ""}
func main() {
\tbody := ${expression(parts, write)}
\tresponse, err := http.Post(${JSON.stringify(url)}, "application/json", strings.NewReader(body))
\tif err != nil {
\t\tpanic(err)
\t}
\tdefer response.Body.Close()
\tio.Copy(os.Stdout, response.Body)
}
`;
  },
};

/** Texts in quotes, with what is written between them. */
function expression(
  parts: readonly Part[],
  write: (part: Exclude<Part, string>) => string,
  text: (text: string) => string = JSON.stringify,
): string {
  return parts.map((part) => (typeof part === "string" ? text(part) : write(part))).join(" + ");
}

/** JSON's escapes are Python's, but for one half of a pair of UTF-16, which Python's encoder refuses. */
function pythonText(text: string): string {
  return /^[^'\\\n]*$/.test(text) ? `'${text}'` : JSON.stringify(text);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
