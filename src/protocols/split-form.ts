import { invalidArgument, publicText, type ServingError } from "../errors.ts";
import { MAX_INPUTS } from "../platform/limits/memory/decode-budget.ts";

const ENCODED = /^\s*application\/x-www-form-urlencoded\b/i;
const AMPERSAND = "&".charCodeAt(0);

/** The parts of a form by their names, each in the order in which they came. */
export interface Form {
  readonly texts: ReadonlyMap<string, readonly string[]>;
  readonly files: ReadonlyMap<string, readonly Buffer[]>;
}

/**
 * Splits a `multipart/form-data` or `application/x-www-form-urlencoded` body; `contentType` is the header, which has
 * the boundary. Throws `invalid_argument` for any other body, and for too many parts.
 */
export async function splitForm(body: Uint8Array, contentType: string): Promise<Form> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return ENCODED.test(contentType) ? splitPairs(bytes) : splitParts(bytes, contentType);
}

function splitPairs(body: Buffer): Form {
  const texts = new Map<string, string[]>();
  if (hasMore(body, AMPERSAND, MAX_INPUTS)) throw tooMany();
  for (const [name, value] of new URLSearchParams(body.toString())) append(texts, name, value);
  return { texts, files: new Map() };
}

function hasMore(body: Buffer, byte: number, most: number): boolean {
  let count = 0;
  for (let at = body.indexOf(byte); at !== -1 && count <= most; at = body.indexOf(byte, at + 1)) count++;
  return count > most;
}

async function splitParts(body: Buffer, contentType: string): Promise<Form> {
  const { default: busboy } = await import("busboy");
  const texts = new Map<string, string[]>();
  const files = new Map<string, Buffer[]>();
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      reject(invalidArgument(`The form cannot be read: ${publicText(cause)}.`, cause));
    };
    try {
      const limits = { fieldNameSize: body.length, fieldSize: body.length, parts: MAX_INPUTS + 1 };
      const parser = busboy({ headers: { "content-type": contentType }, limits, defParamCharset: "utf8" });
      // The name of a part may be undefined, although its type is string.
      parser.on("field", (name: string | undefined, value) => append(texts, name ?? "", value));
      parser.on("file", (name: string | undefined, stream) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", fail);
        stream.on("end", () => append(files, name ?? "", Buffer.concat(chunks)));
      });
      parser.on("partsLimit", () => reject(tooMany()));
      parser.on("error", fail);
      parser.on("close", () => resolve({ texts, files }));
      parser.write(body, () => {
        parser.end();
        // What it still does, it does in this turn; a part that begins behind the form's end has no end itself.
        setImmediate(() => parser.closed || fail("there is a part behind its end"));
      });
    } catch (reason) {
      fail(reason);
    }
  });
}

function tooMany(): ServingError {
  return invalidArgument(`The form has more than ${MAX_INPUTS} fields and files; send fewer.`);
}

function append<Value>(fields: Map<string, Value[]>, name: string, value: Value): void {
  const values = fields.get(name);
  if (values === undefined) fields.set(name, [value]);
  else values.push(value);
}
