import { readFileSync } from "node:fs";
import sharp from "sharp";
import { beforeAll, describe, expect, it } from "vitest";
import { faceMismatch, loadDemoPhotos, toFoundFaces } from "../../scripts/demo-photos.ts";
import { makeDemoModels } from "../../scripts/make-demo-models.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { readExample } from "./example-command.ts";
import { infer, WIRES } from "./wires.ts";

beforeAll(async () => {
  await makeDemoModels();
});

const start = async (name: string) => startServer((await readExample(name)).options);

describe.each(WIRES)("over %s", (_, { predict }) => {
  it.each(["faces-to-emotions", "parallel-faces"])("%s.ts finds each face and its emotion", async (name) => {
    const server = await start(name);
    for (const photo of await loadDemoPhotos()) {
      const { boxes, scores, emotions } = await predict(server, { image: Buffer.from(photo.bytes) });
      const found = toFoundFaces(boxes as number[][], emotions as string[]);
      expect({ photo: photo.name, wrong: faceMismatch(found, photo.faces) }).toEqual({ photo: photo.name });
      expect((scores as number[]).filter((score) => score >= 0.5 && score <= 1)).toHaveLength(photo.faces.length);
    }
  });

  it("faces-to-emotions.ts answers no rows where the second model is skipped", async () => {
    const server = await start("faces-to-emotions");
    const image = readFileSync("examples/photos/no-faces.jpg");
    expect(await predict(server, { image })).toEqual({ boxes: [], scores: [], emotions: [] });
  });

  it("faces-to-emotions.ts refuses what is no photo", async () => {
    const server = await start("faces-to-emotions");
    await expect(predict(server, { image: Buffer.from("hello") })).rejects.toThrow(
      /5 bytes .* are not an image; expected JPEG/,
    );
    await expect(predict(server, { image: Buffer.from("hello") })).rejects.toThrow(/image/);
  });
});

describe("draw-faces.ts", () => {
  const portrait = readFileSync("examples/photos/portrait.jpg");

  it("answers gRPC with a JPEG of the photo's size that has a frame around the face", async () => {
    const server = await start("draw-faces");
    const tensors = createTensors([["image", createTensor("bytes", [1], [portrait])]]);
    const outputs = await infer(server, { kind: "tensors", tensors });
    const image = outputs.kind === "tensors" ? outputs.tensors.image : undefined;
    expect(image).toMatchObject({ dtype: "bytes", shape: [] });
    await expectFramedPortrait(image?.data[0] as Uint8Array);
  });

  it("answers HTTP with the image itself", async () => {
    const server = await start("draw-faces");
    const body = new FormData();
    body.append("bytes_image", new Blob([new Uint8Array(portrait)]), "portrait.jpg");
    const response = await fetch(`${server.httpUrl}/predict`, { method: "POST", body });
    expect(response.headers.get("content-type")).toBe("image/jpeg");
    await expectFramedPortrait(new Uint8Array(await response.arrayBuffer()));
  });
});

/** The recorded face of the portrait has its left edge at x = 171 and its middle at y = 126; the frame is lime. */
async function expectFramedPortrait(jpeg: Uint8Array): Promise<void> {
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width: 512, height: 512 });
  const [red = 255, green = 0, blue = 255] = data.subarray((126 * 512 + 171) * 3);
  expect(green - Math.max(red, blue)).toBeGreaterThan(100);
}
