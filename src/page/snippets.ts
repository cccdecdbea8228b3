import { shellQuoted, shellWord } from "../platform/text/terminal.ts";
import { MISSING_TEXT } from "../tensor/codecs/csv.ts";
import type { Element, FormTensor } from "./form-tensor.ts";

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
  const url = `${request.base}v2/models/${encodeURIComponent(request.model)}/versions/${request.version}/infer`;
  const parts = merge(bodyOf(request.inputs));
  return WRITERS[language]({ url, parts, needsCredentials: request.isSignedIn });
}

/** KServe V2's request, which the form sends too, with files as base64 in place of binary data. */
function bodyOf(inputs: readonly FormTensor[]): readonly Part[] {
  const items = inputs.map(({ name, datatype, shape, values, file }) => [
    `{"name": ${JSON.stringify(name)}, "datatype": "${datatype}", "shape": ${JSON.stringify(shape)}, "data": `,
    ...(file === undefined ? flat(values) : fileParts(file, typeof values[0] === "string")),
    "}",
  ]);
  return ['{"inputs": [', ...joined(items), "]}"];
}

/** A file as the only element. A text goes as it is. */
function fileParts(file: string, isText: boolean): readonly Part[] {
  const [before, after] = isText ? ['["', '"]'] : ['[{"b64": "', '"}]'];
  return [before, { file, isUrlSafe: isText }, after];
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

/** JSON has no NaN either: both are null. */
function literal(value: Element): string {
  if (typeof value === "bigint") return String(value);
  if (value === MISSING_TEXT) return "null";
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

/** A program that sends a request, in no language yet. */
interface Program {
  readonly url: string;
  readonly parts: readonly Part[];
  /** True if the server wants credentials: the program takes them from the environment. */
  readonly needsCredentials: boolean;
}

/** A part of a body as each language writes it: JSON, a file in base64, or the same value many times. */
type Part = string | FilePart | { readonly fill: string; readonly count: number };

/** A file, in base64 of the standard alphabet or of the one for URLs. */
interface FilePart {
  readonly file: string;
  readonly isUrlSafe: boolean;
}

/** The comment of programs that need credentials, which are never copied into them. */
const CREDENTIALS_NOTE =
  'Set AUTHORIZATION to your own credentials: "Bearer TOKEN", or "Basic " and base64 of USER:PASSWORD.';

/** The program as a line of a shell. */
function writeCurl({ url, parts, needsCredentials }: Program): string {
  const note = needsCredentials ? `# ${CREDENTIALS_NOTE}\n` : "";
  const call = `curl ${needsCredentials ? '-H "Authorization: $AUTHORIZATION" ' : ""}${shellWord(url)}`;
  const [only] = parts;
  if (parts.length === 1) return `${note}${call} -d ${shellQuoted(only as string)}\n`;
  const words = parts.map((part) => {
    if (typeof part === "string") return shellQuoted(part);
    return "file" in part
      ? `"$(base64 < ${shellQuoted(part.file)} | tr -d '\\n'${part.isUrlSafe ? " | tr +/ -_" : ""})"`
      : // With a space, for a number below 0 is no option.
        `"$(yes ${shellQuoted(` ${part.fill}`)} | head -n ${part.count} | paste -sd, -)"`;
  });
  return `${note}printf %s ${words.join("")} |\n  ${call} -d @-\n`;
}

/** The program in Python, without any package. */
function writePython({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `base64.${part.isUrlSafe ? "urlsafe_" : ""}b64encode(open(${JSON.stringify(part.file)}, "rb").read()).decode()`
      : `",".join([${JSON.stringify(part.fill)}] * ${part.count})`;
  const own = needsCredentials ? ', "Authorization": os.environ["AUTHORIZATION"]' : "";
  return `import base64, json, ${needsCredentials ? "os, " : ""}urllib.request

body = ${expression(parts, write, pythonText)}
${needsCredentials ? `# ${CREDENTIALS_NOTE}\n` : ""}headers = {"Content-Type": "application/json"${own}}
request = urllib.request.Request(${JSON.stringify(url)}, body.encode(), headers)
print(json.load(urllib.request.urlopen(request)))
`;
}

/** JSON's escapes are Python's, but for one half of a pair of UTF-16, which Python's encoder refuses. */
function pythonText(text: string): string {
  return /^[^'\\\n]*$/.test(text) ? `'${text}'` : JSON.stringify(text);
}

/** The program in TypeScript, without any package. */
function writeTypeScript({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `readFileSync(${JSON.stringify(part.file)}, "base64${part.isUrlSafe ? "url" : ""}")`
      : `Array(${part.count}).fill(${JSON.stringify(part.fill)}).join()`;
  const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
  const own = needsCredentials ? ", authorization: process.env.AUTHORIZATION!" : "";
  return `${needsFiles ? 'import { readFileSync } from "node:fs";\n\n' : ""}const body = ${expression(parts, write)};
${needsCredentials ? `// ${CREDENTIALS_NOTE}\n` : ""}const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json"${own} },
  body,
});
console.log(await response.text());
`;
}

const GO_FILE = `
func file(name string, encoding *base64.Encoding) string {
	bytes, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return encoding.EncodeToString(bytes)
}
`;

const GO_CREDENTIALS = `	// ${CREDENTIALS_NOTE}
	request.Header.Set("Authorization", os.Getenv("AUTHORIZATION"))
`;

/** The program in Go, with nothing but its own library. */
function writeGo({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `file(${JSON.stringify(part.file)}, base64.${part.isUrlSafe ? "URL" : "Std"}Encoding)`
      : `strings.Repeat(${JSON.stringify(`${part.fill},`)}, ${part.count - 1}) + ${JSON.stringify(part.fill)}`;
  const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
  return `package main

import (
${needsFiles ? '\t"encoding/base64"\n' : ""}\t"io"
\t"net/http"
\t"os"
\t"strings"
)
${needsFiles ? GO_FILE : ""}
func main() {
\tbody := ${expression(parts, write)}
\trequest, err := http.NewRequest("POST", ${JSON.stringify(url)}, strings.NewReader(body))
\tif err != nil {
\t\tpanic(err)
\t}
\trequest.Header.Set("Content-Type", "application/json")
${needsCredentials ? GO_CREDENTIALS : ""}\tresponse, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tpanic(err)
\t}
\tdefer response.Body.Close()
\tio.Copy(os.Stdout, response.Body)
}
`;
}

/** Texts in quotes, joined with the code for the other parts. */
function expression(
  parts: readonly Part[],
  write: (part: Exclude<Part, string>) => string,
  text: (text: string) => string = JSON.stringify,
): string {
  return parts.map((part) => (typeof part === "string" ? text(part) : write(part))).join(" + ");
}
