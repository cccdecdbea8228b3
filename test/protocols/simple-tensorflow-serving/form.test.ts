import { createHash } from "node:crypto";
import { request } from "node:http";
import sharp from "sharp";
import { afterAll, describe, expect, it } from "vitest";
import { defineHooks, type TensorSpec } from "../../../src/hooks/hooks.ts";
import { createServer } from "../../../src/index.ts";
import { startServer } from "../../helpers/start-server.ts";

const TEXTS = [{ name: "images", dtype: "bytes", shape: [-1] }] as const;
const server = await createServer({ http: {}, ...echoOf(TEXTS) });
afterAll(() => server.close());

/** A model that gives back what it takes. */
function echoOf(inputs: readonly TensorSpec[]) {
  const hooks = defineHooks({ inputs, outputs: inputs, preprocess: (values) => values });
  return { stages: [{ driver: "null" }], hooks };
}

/** A picture of 2 x 1 pixels: red, blue. */
const PICTURE = await sharp(Uint8Array.of(255, 0, 0, 0, 0, 255), { raw: { width: 2, height: 1, channels: 3 } })
  .png()
  .toBuffer();

type Part = readonly [name: string, content: string | Uint8Array<ArrayBuffer>];

async function post(parts: readonly Part[], url = server.httpUrl) {
  const body = new FormData();
  for (const [name, content] of parts) {
    if (typeof content === "string") body.append(name, content);
    else body.append(name, new Blob([content]), "file");
  }
  const answer = await fetch(`${url}/`, { method: "POST", body });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> & { error: string } };
}

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));
const picture = () => Uint8Array.from(PICTURE);

describe("files for an input of strings", () => {
  it("are URL-safe base64 texts with padding, image before images", async () => {
    const { status, json } = await post([
      ["images", bytes("b")],
      ["images", bytes("\xff\xfe\xfd\xfc")],
      ["image", bytes("a?>")],
      ["model_name", "default"],
      ["model_version", "1"],
      ["signature_name", "serving_default"],
    ]);
    expect([status, json]).toEqual([200, { images: ["YT8-", "Yg==", "__79_A=="] }]);
  });

  it("may be many and large", async () => {
    const many = Array.from({ length: 1000 }, (_, index): Part => ["images", bytes(`${index}`)]);
    const { images } = (await post(many)).json as unknown as { images: string[] };
    expect([images.length, images[999]]).toEqual([1000, "OTk5"]);
    const large = new Uint8Array(1_000_000).fill(7);
    const [text = ""] = ((await post([["image", large]])).json as unknown as { images: string[] }).images;
    const hash = (of: Uint8Array) => createHash("sha256").update(of).digest("hex");
    expect(hash(Buffer.from(text, "base64url"))).toBe(hash(large));
  });

  it("are the input images of a model that describes none", async () => {
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }] });
    expect((await post([["image", bytes("a")]], httpUrl)).json).toEqual({ images: ["YQ=="] });
  });
});

describe("files for an input of numbers", () => {
  const ask = async (inputs: readonly TensorSpec[], parts: readonly Part[]) =>
    post(parts, (await startServer(echoOf(inputs))).httpUrl);

  it("are RGB pixels, channels last", async () => {
    const spec = { name: "x", dtype: "float32", shape: [-1, -1, -1, 3] } as const;
    const { json } = await ask(
      [spec],
      [
        ["image", picture()],
        ["images", picture()],
      ],
    );
    const one = [
      [
        [255, 0, 0],
        [0, 0, 255],
      ],
    ];
    expect(json).toEqual({ x: [one, one] });
  });

  it("have the input's channels, order and size", async () => {
    const first = { name: "x", dtype: "int32", shape: [-1, 3, 1, 2] } as const;
    expect((await ask([first], [["image", picture()]])).json).toEqual({ x: [[[[255, 0]], [[0, 0]], [[0, 255]]]] });
    const grey = { name: "x", dtype: "uint8", shape: [-1, 2, 2, 1] } as const;
    const { json } = await ask([grey], [["image", picture()]]);
    expect((json as unknown as { x: number[] }).x.flat(3)).toHaveLength(4);
  });

  it("have the channels and the shape of the form", async () => {
    const open = { name: "x", dtype: "uint8" } as const;
    const grey = await ask(
      [open],
      [
        ["image", picture()],
        ["channel_layout", "L"],
        ["shape", "2, 1"],
      ],
    );
    expect(grey.json).toEqual({ x: [[76], [29]] });
    const alpha = await ask(
      [open],
      [
        ["image", picture()],
        ["channel_layout", "RGBA"],
      ],
    );
    expect(alpha.json).toEqual({
      x: [
        [
          [
            [255, 0, 0, 255],
            [0, 0, 255, 255],
          ],
        ],
      ],
    });
  });

  const NUMBERS = { name: "x", dtype: "float32", shape: [-1, -1, -1, 3] } as const;
  it.each<[string, TensorSpec, readonly Part[], string]>([
    ["what is no image", NUMBERS, [["image", bytes("no")]], "File 1 of the form: 2 bytes that begin with"],
    [
      "an unknown layout",
      NUMBERS,
      [
        ["image", picture()],
        ["channel_layout", "HSV"],
      ],
      'channel_layout is "HSV"',
    ],
    [
      "a shape that is none",
      NUMBERS,
      [
        ["image", picture()],
        ["shape", "1,x"],
      ],
      'shape is "1,x"; expected sizes',
    ],
    [
      "a shape of more sizes than a tensor may have",
      NUMBERS,
      [
        ["image", picture()],
        ["shape", "1,".repeat(100_000)],
      ],
      `shape is "${"1,".repeat(50)}"; expected sizes`,
    ],
    [
      "a shape of another size",
      NUMBERS,
      [
        ["image", picture()],
        ["shape", "1,784"],
      ],
      "6 values; the shape 1,784 has 784.",
    ],
    [
      "an input that has no shape of images",
      { ...NUMBERS, shape: [-1, 784] },
      [["image", picture()]],
      "send the field shape too, such as -F shape=1,784.",
    ],
  ])("refuses %s", async (_, spec, parts, message) => {
    const { status, json } = await ask([spec], parts);
    expect([status, json.error]).toEqual([400, expect.stringContaining(message)]);
  });

  it("refuses images of different sizes", async () => {
    const other = await sharp(PICTURE).resize(3, 3).png().toBuffer();
    const { status, json } = await ask(
      [NUMBERS],
      [
        ["image", picture()],
        ["images", Uint8Array.from(other)],
      ],
    );
    expect([status, json.error]).toEqual([400, expect.stringContaining("different sizes (1 x 2 x 3, 3 x 3 x 3)")]);
  });
});

describe("a form is refused", () => {
  it.each<[string, readonly Part[], string]>([
    ["without files", [["model_name", "default"]], "Invalid form-data: there is no file in the field image or images"],
    ["with a text for a file", [["image", "@photo.jpg"]], "Invalid form-data: there is no file"],
    ["with files of other names", [["picture", bytes("a")]], "Invalid form-data: there is no file"],
    [
      "with an unknown model",
      [
        ["image", bytes("a")],
        ["model_name", "no"],
      ],
      "Invalid model name: no",
    ],
    [
      "with a version that is none",
      [
        ["image", bytes("a")],
        ["model_version", "new"],
      ],
      'model_version is "new"',
    ],
    [
      "with a profile",
      [
        ["image", bytes("a")],
        ["run_profile", "true"],
      ],
      '"run_profile" is not taken',
    ],
  ])("%s", async (_, parts, message) => {
    const { status, json } = await post(parts);
    expect([status, json.error]).toEqual([400, expect.stringContaining(message)]);
  });

  it("that is cut off, has no boundary, or too many parts", async () => {
    const send = async (type: string, body: string) => {
      const answer = await fetch(`${server.httpUrl}/`, { method: "POST", body, headers: { "content-type": type } });
      return [answer.status, await answer.text()];
    };
    const invalid = [400, expect.stringContaining("Invalid form-data: The form cannot be read: ")];
    expect(
      await send("multipart/form-data; boundary=x", '--x\r\nContent-Disposition: form-data; name="image"'),
    ).toEqual(invalid);
    expect(await send("multipart/form-data", "--x--")).toEqual(invalid);
    const part = '--x\r\nContent-Disposition: form-data; name="images"; filename="f"\r\n\r\na\r\n';
    const [status, text] = await send("multipart/form-data; boundary=x", `${part.repeat(4100)}--x--\r\n`);
    expect([status, text]).toEqual([400, expect.stringContaining("The form has more than 2048 fields and files")]);
  });

  it("for a model with several inputs, of which none is called images", async () => {
    const inputs = ["a", "b"].map((name) => ({ name, dtype: "float32", shape: [-1] }) as const);
    const { httpUrl } = await startServer(echoOf(inputs));
    const { status, json } = await post([["image", bytes("a")]], httpUrl);
    expect([status, json.error]).toEqual([
      400,
      expect.stringContaining("Input op name 'images' does not exist in the model"),
    ]);
  });

  it("of 300 MB, before it is sent", async () => {
    const headers = { "content-type": "multipart/form-data; boundary=x", "content-length": 300_000_000 };
    const status = await new Promise((resolve) => {
      const sent = request(`${server.httpUrl}/`, { method: "POST", headers }, (response) => {
        resolve(response.statusCode);
        sent.destroy();
      });
      sent.flushHeaders();
    });
    expect(status).toBe(413);
  });
});
