import { MAX_INPUTS } from "../../src/platform/limits/memory/decode-budget.ts";
import { type AttackRow, tally } from "./attack-row.ts";
import { post } from "./http-attack.ts";
import { repeated } from "./protobuf.ts";

const BOUNDARY = "b";
const FORM = "application/x-www-form-urlencoded";
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;
const BYTES = 3_000_000;

/** Forms of 3 MB, and more where that costs nothing, by what they contain. */
const FORMS: Readonly<Record<string, () => Buffer>> = {
  integers: () => part('name="int64_x"', list("7,")),
  floats: () => part('name="float_x"', list("1.2345678901234567e-5,")),
  booleans: () => part('name="bool_x"', list("true,")),
  bytes: () => part('name="byte_x"', list("1,")),
  strings: () => part('name="strings_x"', list("a,")),
  "string-fields": () => repeated(part('name="strings_x"', Buffer.from("a")), MAX_INPUTS - 1),
  "equal-fields": () => repeated(part('name="float_x"', Buffer.from("1")), 50_000),
  "many-fields": () => parts((index) => part(`name="float_x${index}"`, list("7,", 700))),
  files: () => parts((index) => part(`name="uint8_x${index}"; filename="f"`, Buffer.alloc(700))),
  "long-name": () => part(`name="float_${"x".repeat(BYTES)}"`, Buffer.from("1")),
  "long-header": () => part(`name="float_x"\r\nX-Y: ${"x".repeat(BYTES)}`, Buffer.from("1")),
  boundaries: () => repeated(`\r\n--${BOUNDARY}`, BYTES / 5),
  "almost-boundaries": () => part('name="bytes_x"; filename="f"', repeated("\r\n-", BYTES)),
  "file-integers": () => part('name="int64_x"; filename="f"', list("7,")),
  filter: () => Buffer.concat([part('name="out_filter"', list("y,")), part('name="float_x"', Buffer.from("1"))]),
  large: () => part('name="float_x"', list("7,", 40_000_000)),
  // Short enough to be read in the main thread.
  digits: () => part('name="float_x"', Buffer.from(`${"1".repeat(60_000)}x`)),
  "empty-filter": () => part('name="out_filter"', repeated(",", 100_000_000)),
};

/** Forms of `key=value` pairs. */
const PAIRS: Readonly<Record<string, () => Buffer>> = {
  integers: () => Buffer.concat([Buffer.from("int64_x="), list("7,")]),
  escapes: () => Buffer.concat([Buffer.from("int64_x="), list("%37%2C")]),
  "equal-fields": () => repeated("float_x=1&", BYTES / 10),
  "many-fields": () =>
    Buffer.from(Array.from({ length: MAX_INPUTS - 1 }, (_, index) => `float_x${index}=${"7,".repeat(350)}`).join("&")),
  separators: () => repeated("&", BYTES),
  underscores: () => Buffer.concat([Buffer.from("a"), repeated("_", 100_000_000), Buffer.from("=1")]),
  large: () => Buffer.concat([Buffer.from("string_x="), repeated("%61", 13_000_000)]),
};

/** The original proxy's forms: one of each kind, and a few at once. */
export const FORM_ROWS: readonly AttackRow[] = [
  ...Object.entries(FORMS).map(([name, make]) => formRow(`form-${name}`, () => closed(make()), MULTIPART)),
  ...Object.entries(PAIRS).map(([name, make]) => formRow(`pairs-${name}`, make, FORM)),
];

function formRow(name: string, make: () => Buffer, contentType: string): AttackRow {
  const prepare = () => {
    const body = make();
    const message = { path: "/predict", body, headers: { "content-type": contentType } };
    return async (target: Parameters<typeof post>[0]) => ({
      got: tally(await Promise.all([post(target, message), post(target, message)])),
    });
  };
  return { name, server: "null", prepare };
}

function list(unit: string, bytes = BYTES): Buffer {
  return repeated(unit, Math.floor(bytes / unit.length)).subarray(0, -1);
}

function part(header: string, value: Buffer): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${header}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), value, Buffer.from("\r\n")]);
}

function parts(make: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: MAX_INPUTS - 1 }, (_, index) => make(index)));
}

function closed(form: Buffer): Buffer {
  return Buffer.concat([form, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}
