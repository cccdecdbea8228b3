import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { PIXELS } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage } from "../page/browser.ts";
import { startWeb } from "../storage/start-web.ts";
import { bundleClient } from "./bundle-client.ts";

/** A program of a web page; `bytes` = the file of an image. */
const PROGRAM = `async (address, bytes) => {
  const { half, pixels, slow } = client.connect(address, { retries: false });
  const { y } = await half.predict({ x: [1, 2.5] });
  const typed = await half.predict({ x: new Float32Array([3]) });
  const { photo, note } = await pixels.predict({ photo: new Blob([Uint8Array.from(bytes)]), note: [["hi"]] });
  const wrong = await half.predict({ z: [1] }).catch((error) => [error.code, error.status, error.message]);
  const aborted = await half.predict({ x: [1] }, { signal: AbortSignal.abort() }).catch(({ code }) => code);
  const stopped = new AbortController();
  setTimeout(() => stopped.abort(), 200);
  const late = await slow.predict({ x: [1] }, { signal: stopped.signal }).catch(({ code }) => code);
  const plain = await fetch(address + "/v2/models/half/infer", { method: "POST", body: JSON.stringify({
    inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [2] }] }) }).then((answer) => answer.json());
  const letters = [];
  for await (const { value } of client.connect(address).spell.stream({ x: [1] })) {
    letters.push(value.data[0]);
    if (letters.length === 3) break;
  }
  const text = new TextDecoder().decode(note.data[0]);
  let grpc;
  try { client.connect("grpc://host:1"); } catch (error) { grpc = error.message; }
  return { y: [...y.data], typed: [...typed.y.data], json: plain.outputs[0].data, rank: photo.shape.length,
    letters, text, wrong, aborted, late, grpc };
}`;

/** A page of another origin with the bundle, as its author has it. */
async function openOther(code: string, allowed: string): Promise<Page> {
  const origin = await startWeb((request, response) => {
    const isPage = request.url === "/";
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript");
    response.end(isPage ? '<!doctype html><link rel="icon" href="data:,"><script src="client.js"></script>' : code);
  });
  return openPage(origin, {}, [allowed]);
}

describe.skipIf(lacksChromium())("the client in a web page", () => {
  test("of another origin sends numbers, typed arrays and a Blob, and reports errors and aborts", async () => {
    const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
    const stages = [{ driver: "null" }];
    const hooks: Hooks = { process: () => new Promise(() => {}) };
    const spell: Hooks = {
      async *process() {
        try {
          for (let value = 0; ; value++) {
            yield { value };
            await new Promise(setImmediate);
          }
        } finally {
          isSpelt = true;
        }
      },
    };
    let isSpelt = false;
    const { httpUrl } = await startServer({
      models: {
        half: { path: "test/fixtures/models/half-plus-two.onnx" },
        pixels: { driver },
        slow: { stages, hooks },
        spell: { stages, hooks: spell },
      },
      corsOrigins: ["*"],
    });
    const page = await openOther((await bundleClient()).code, httpUrl);
    const photo = JSON.stringify([...readFileSync("examples/photos/page.png")]);
    const seen = await page.evaluate(`(${PROGRAM})(${JSON.stringify(httpUrl)}, ${photo})`);
    expect(seen).toMatchObject({ y: [2.5, 3.25], typed: [3.5], json: [3], rank: 4, text: "hi" });
    expect(seen).toMatchObject({ letters: [0, 1, 2] });
    await expect.poll(() => isSpelt).toBe(true);
    expect(seen).toMatchObject({ aborted: "cancelled", late: "cancelled" });
    expect(seen).toMatchObject({ wrong: ["invalid_argument", 400, expect.stringContaining("z")] });
    expect(seen).toMatchObject({ grpc: expect.stringContaining("A web page has no gRPC") });
  });

  test("of an origin that the server does not allow says so", async () => {
    const { httpUrl } = await startServer({ models: { half: { path: "test/fixtures/models/half-plus-two.onnx" } } });
    const page = await openOther((await bundleClient()).code, httpUrl);
    const call = `client.connect(${JSON.stringify(httpUrl)}).half.predict({ x: [1] }).catch(({ message }) => message)`;
    expect(await page.evaluate(call)).toContain("it must allow the origin of this page (--cors-origin)");
  });
});
