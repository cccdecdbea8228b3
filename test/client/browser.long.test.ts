import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PIXELS } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage } from "../page/browser.ts";
import { bundleClient } from "./bundle-client.ts";

/** A program of the web page; `bytes` = the file of an image. */
const PROGRAM = `async (bytes) => {
  const { half, pixels } = client.connect(document.baseURI.replace(/ui$/, ""));
  const { y } = await half.predict({ x: [1, 2.5] });
  const typed = await half.predict({ x: new Float32Array([3]) });
  const { photo, note } = await pixels.predict({ photo: new Blob([Uint8Array.from(bytes)]), note: [["hi"]] });
  const wrong = await half.predict({ z: [1] }).catch((error) => [error.code, error.status, error.message]);
  const aborted = await half.predict({ x: [1] }, { signal: AbortSignal.abort() }).catch(({ code }) => code);
  const text = new TextDecoder().decode(note.data[0]);
  let grpc;
  try { client.connect("grpc://host:1"); } catch (error) { grpc = error.message; }
  return { y: [...y.data], typed: [...typed.y.data], rank: photo.shape.length, text, wrong, aborted, grpc };
}`;

describe.skipIf(lacksChromium())("the client in a web page", () => {
  test("sends numbers, typed arrays and a Blob, and reports errors and an abort", async () => {
    const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
    const models = { half: { path: "test/fixtures/models/half-plus-two.onnx" }, pixels: { driver } };
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${httpUrl}/ui`);
    const { code } = await bundleClient();
    const photo = JSON.stringify([...readFileSync("examples/photos/page.png")]);
    const seen = await page.evaluate(`(() => { ${code}; return (${PROGRAM})(${photo}); })()`);
    expect(seen).toMatchObject({ y: [2.5, 3.25], typed: [3.5], rank: 4, text: "hi", aborted: "cancelled" });
    expect(seen).toMatchObject({ wrong: ["invalid_argument", 400, expect.stringContaining("z")] });
    expect(seen).toMatchObject({ grpc: expect.stringContaining("A web page has no gRPC") });
  });
});
