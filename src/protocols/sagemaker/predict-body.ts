import { defineJob } from "../../codec-host/job.ts";
import { parseJson } from "../../codecs/json/json-reader.ts";
import { invalidArgument, publicText } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import { csvToJsonRows } from "./csv-rows.ts";

/** Media types of bodies that become a request of TensorFlow Serving's REST API. */
const FORMS = {
  "application/json": "json",
  "application/jsonlines": "lines",
  "application/jsons": "lines",
  "text/csv": "csv",
} as const;
export type BodyForm = (typeof FORMS)[keyof typeof FORMS];

/** The form of a body of this media type; undefined where it is not text of that API. */
export function bodyForm(mediaType: string): BodyForm | undefined {
  return Object.hasOwn(FORMS, mediaType) ? FORMS[mediaType as keyof typeof FORMS] : undefined;
}

/**
 * Turns the body of an invocation into the JSON of TensorFlow Serving's REST API: what is such JSON stays, other JSON is one instance,
 * a list of lists is its instances, lines of JSON and of CSV are one instance each. Throws `invalid_argument` with the
 * line of JSON or CSV that is malformed. `maxBytes` bounds what is made of it.
 */
export function toPredictBody(body: Uint8Array, form: BodyForm, maxBytes: number): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (form === "csv") return ofInstances(csvToJsonRows(toText(bytes)));
  if (isPredictBody(bytes)) return body;
  const text = bytes.toString("latin1");
  if (form === "lines" || SEVERAL_VALUES.test(text)) return ofInstances(jsonLines(bytes, maxBytes));
  return LIST_OF_LISTS.test(text) ? wrapped('{"instances":', bytes, "}") : wrapped('{"instances":[', bytes, "]}");
}

/** {@link toPredictBody} for a codec thread. */
export const toPredictBodyJob = defineJob(import.meta.url, "toPredictBodyJob", toPredictBody);

const SEVERAL_VALUES = /[}\]]\s+[{[]/;
const LIST_OF_LISTS = /^\s*\[\s*\[/;
const MEMBERS = ["instances", "inputs", "examples"].map((name) => Buffer.from(`"${name}"`));
const SPACES: ReadonlySet<number> = new Set([9, 10, 13, 32]);
const COLON = 58;

/** Checks if one of the API's own members stands anywhere in the text. */
function isPredictBody(bytes: Buffer): boolean {
  return MEMBERS.some((member) => {
    for (let at = bytes.indexOf(member); at >= 0; at = bytes.indexOf(member, at + 1)) {
      let end = at + member.length;
      while (SPACES.has(bytes[end]!)) end++;
      if (bytes[end] === COLON) return true;
    }
    return false;
  });
}

function jsonLines(bytes: Buffer, maxBytes: number): readonly string[] {
  const lines: string[] = [];
  for (const [index, line] of toText(bytes).split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      parseJson(Buffer.from(line), new DecodeBudget(maxBytes));
    } catch (reason) {
      throw invalidArgument(`Line ${index + 1} of the body is not JSON: ${publicText(reason)}`, reason);
    }
    lines.push(line);
  }
  return lines;
}

function ofInstances(rows: readonly string[]): Buffer {
  if (rows.length === 0) throw invalidArgument("The body has no rows; send one line for each instance.");
  return Buffer.from(`{"instances":[${rows.join(",")}]}`);
}

function wrapped(before: string, bytes: Buffer, after: string): Buffer {
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
}

/** Throws `invalid_argument` for other encodings than UTF-8. */
function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw invalidArgument("The body is not UTF-8; convert it, for example with iconv.", cause);
  }
}
