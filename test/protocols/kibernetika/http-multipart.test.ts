import { describe, expect, test, vi } from "vitest";
import { FORM_TYPES, parseKibernetikaForm } from "../../../src/protocols/kibernetika/http-multipart.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { comparable } from "../../grpc/plain-tensor.ts";

const MAX_BYTES = 256 * 1024 * 1024;

/** The form as an HTTP client would send it. */
async function encode(form: FormData) {
  const response = new Response(form);
  const body = Buffer.from(await response.arrayBuffer());
  return { body, type: response.headers.get("content-type") ?? "" };
}

async function parse(...fields: readonly (readonly [name: string, value: string | Uint8Array])[]) {
  const form = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([Buffer.from(value)]), "file.bin");
  }
  const { body, type } = await encode(form);
  const { inputs, ...rest } = await parseKibernetikaForm(body, type, MAX_BYTES);
  const entries = Object.entries(inputs).map(([name, tensor]) => [name, comparable(tensor)]);
  return { inputs: Object.fromEntries(entries), ...rest };
}

describe("parseKibernetikaForm", () => {
  test("takes texts and files as inputs, each under what follows the type", async () => {
    const image = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 256));
    const { inputs } = await parse(["bytes_image", image], ["float_threshold", "0.5"], ["string_my_long_name", "a, b"]);
    expect(inputs).toEqual({
      image: { dtype: "bytes", shape: [1], data: [image] },
      threshold: { dtype: "float32", shape: [1], data: [0.5] },
      my_long_name: { dtype: "bytes", shape: [1], data: [Buffer.from("a, b")] },
    });
  });

  test("takes a file of no bytes, and names that are no ASCII or those of every object", async () => {
    const { inputs } = await parse(["byte_é", Buffer.alloc(0)], ["int_constructor", "1"]);
    expect(inputs).toEqual({
      é: { dtype: "bytes", shape: [], data: [Buffer.alloc(0)] },
      constructor: { dtype: "int64", shape: [1], data: [1n] },
    });
  });

  test("returns filter and media type", async () => {
    expect(await parse(["out_filters", "a,b"], ["out_mime_type", "image/png"])).toMatchObject({
      outFilter: ["a", "b"],
      outMimeType: "image/png",
    });
    expect(await parse(["out_filter", "a"], ["out_filter", "b"])).toMatchObject({
      outFilter: ["a", "b"],
      outMimeType: "",
    });
  });

  test("refuses a filter of more names than there may be outputs", async () => {
    await expect(parse(["out_filter", ",".repeat(2048)])).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The request has more than 2048 outputs; send fewer, or larger ones.",
    });
  });

  test("makes no list of the parts of a name, which may be more than there is memory for", async () => {
    const split = vi.spyOn(String.prototype, "split");
    const name = "_".repeat(100_000);
    const body = Buffer.from(`float_x${name}=1&${name}=1`);
    const { inputs } = await parseKibernetikaForm(body, "application/x-www-form-urlencoded", MAX_BYTES);
    const lengths = split.mock.results.map(({ value }) => (value as unknown[]).length);
    split.mockRestore();
    expect(Object.keys(inputs)).toEqual([`x${name}`]);
    expect(Math.max(...lengths)).toBeLessThan(10);
  });

  test("ignores texts of other names, such as raw_input", async () => {
    expect(await parse(["raw_input", "yes"], ["float", "1"], ["float_", "1"], ["plain", "x"])).toMatchObject({
      inputs: {},
    });
  });

  test.each(["image_x", "image", "input_1"])("takes a file called %s as the bytes of that input", async (name) => {
    const { inputs } = await parse([name, Buffer.of(1, 2)]);
    expect(inputs).toEqual({ [name]: createTensor("bytes", [1], [Buffer.of(1, 2)]) });
  });

  test.each(["out_filter", "out_filters", "out_mime_type", "raw_input"])(
    "refuses a file called %s, which is no input",
    async (name) => {
      await expect(parse([name, Buffer.of(1)])).rejects.toThrow(`File field "${name}" does not name an input`);
      const { inputs } = await parse([`bytes_${name}`, Buffer.of(1)]);
      expect(Object.keys(inputs)).toEqual([name]);
    },
  );

  test("refuses a file that names a type alone, and says which types there are", async () => {
    await expect(parse(["bytes_", Buffer.of(1)])).rejects.toMatchObject({
      code: "invalid_argument",
      message: `File field "bytes_" does not name an input; expected its name, or TYPE_NAME, where TYPE is one of ${FORM_TYPES.join(", ")}.`,
    });
  });

  test("ignores a text without a name, and refuses a file without one", async () => {
    const part = (disposition: string) =>
      Buffer.from(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n1\r\n--b--\r\n`);
    const type = "multipart/form-data; boundary=b";
    expect((await parseKibernetikaForm(part('x="float_x"'), type, MAX_BYTES)).inputs).toEqual({});
    await expect(parseKibernetikaForm(part('filename="f"'), type, MAX_BYTES)).rejects.toThrow(
      'File field "" does not name an input',
    );
  });

  test("refuses two fields for one input", async () => {
    await expect(parse(["float_x", "1"], ["int_x", "1"])).rejects.toThrow(
      'Field "int_x" is a second value for input "x".',
    );
    await expect(parse(["bytes_x", "1"], ["bytes_x", Buffer.of(1)])).rejects.toThrow("is a second value");
  });

  test("refuses more than 2048 fields and files, but takes as many", async () => {
    const values = Array.from({ length: 2048 }, () => ["int_x", "1"] as const);
    expect((await parse(...values)).inputs.x).toMatchObject({ shape: [2048] });
    await expect(parse(...values, ["int_x", "1"])).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The form has more than 2048 fields and files; send fewer.",
    });
  });

  test("refuses a body that is no form, that ends early, or whose boundary is not named", async () => {
    const form = new FormData();
    form.append("float_x", "1");
    const { body, type } = await encode(form);
    const refused = expect.objectContaining({
      code: "invalid_argument",
      message: expect.stringContaining("The form cannot be read"),
    });
    await expect(parseKibernetikaForm(body.subarray(0, body.length - 30), type, MAX_BYTES)).rejects.toEqual(refused);
    await expect(parseKibernetikaForm(Buffer.from("junk"), type, MAX_BYTES)).rejects.toEqual(refused);
    await expect(parseKibernetikaForm(Buffer.alloc(0), type, MAX_BYTES)).rejects.toEqual(refused);
    await expect(parseKibernetikaForm(body, "multipart/form-data", MAX_BYTES)).rejects.toEqual(refused);
  });
});
