import { createServer, request as requestHttp } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { authFiles, TOKENS } from "../access/auth-fixture.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const models = { half: { path: "test/fixtures/models/half-plus-two.onnx" } };

/** A proxy that serves a server under a prefix, which it takes away. */
async function startProxy(target: string, prefix: string): Promise<string> {
  const proxy = createServer((request, response) => {
    const { method, headers, url = "" } = request;
    const sent = requestHttp(target + url.slice(prefix.length), { method: `${method}`, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(sent);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.closeAllConnections());
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`;
}

describe.skipIf(lacksChromium())("the page of the API", () => {
  test("shows types and sends the call of a model, under a path prefix, and shows an error", async () => {
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${await startProxy(httpUrl, "/models")}/docs`);
    await page.getByText("Run the model half", { exact: true }).click();
    await page.getByText("shape: number[]; // [-1], -1 = any size").first().waitFor();
    await page.getByText("The example is a guess of the right types and shapes; it has not been run.").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 /).waitFor();
    const answer = page.getByRole("region", { name: "Answer" });
    expect(JSON.parse(await answer.locator("pre").innerText()).outputs).toMatchObject([{ name: "y", data: [2.5] }]);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel("Body, as JSON").fill('{"inputs": []}');
    await page.getByRole("button", { name: "Send" }).press("Enter");
    await page.getByText(/^400 /).waitFor();
    expect(await answer.innerText()).toContain('"error"');
  });

  test("has the calls of a model first, and puts a file into a body", async () => {
    const given: string[] = [];
    const hooks = {
      inputs: [{ name: "photo", dtype: "bytes", shape: [1] }],
      outputs: [{ name: "size", dtype: "int32", shape: [1] }],
      process: ({ photo }: { photo: { data: Uint8Array[] } }) => {
        given.push(Buffer.from(photo.data[0] ?? []).toString());
        return { size: [given.at(-1)?.length ?? 0] };
      },
    } as unknown as Hooks;
    const { httpUrl } = await startServer({ models: { ...models, photos: { stages: [{ driver: "null" }], hooks } } });
    const page = await openPage(`${httpUrl}/docs`);
    const paths = page.getByRole("region", { name: "half" }).locator("code:not(.method)");
    await expect
      .poll(() => paths.allInnerTexts())
      .toEqual([
        ...["/v2/models/half/infer", "/v1/models/half:predict", "/predict/half", "/v2/models/half/ready"],
        "/v1/models/half:regress",
      ]);
    await page.getByText("Run the model photos", { exact: true }).click();
    await page
      .getByLabel("A file in place of")
      .setInputFiles({ name: "a.png", mimeType: "", buffer: Buffer.from("own") });
    await expect.poll(() => page.getByLabel("Body, as JSON").inputValue()).toContain('"b64": "file a.png"');
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 /).waitFor();
    expect(given).toEqual(["own"]);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("has a field for each file of a body, which may have the same name", async () => {
    const given: string[][] = [];
    const image = (name: string) => ({ name, dtype: "bytes", shape: [1] });
    const hooks = {
      inputs: [image("photo"), image("image")],
      outputs: [{ name: "sizes", dtype: "int32", shape: [2] }],
      process: (inputs: Record<"photo" | "image", { data: Uint8Array[] }>) => {
        const texts = [inputs.photo, inputs.image].map(({ data }) => Buffer.from(data[0] ?? []).toString());
        given.push(texts);
        return { sizes: Int32Array.from(texts, ({ length }) => length) };
      },
    } as unknown as Hooks;
    const { httpUrl } = await startServer({ models: { pairs: { stages: [{ driver: "null" }], hooks } } });
    const page = await openPage(`${httpUrl}/docs`);
    await page.getByText("Run the model pairs", { exact: true }).click();
    const file = (text: string) => ({ name: "a.png", mimeType: "", buffer: Buffer.from(text) });
    const body = page.getByLabel("Body, as JSON");
    for (const [place, text] of ["one", "other"].entries()) {
      await page.getByLabel(`A file in place of b64 number ${place + 1}`).setInputFiles(file(text));
      await expect.poll(() => body.inputValue()).toContain(`"b64": "file ${place + 1}: a.png"`);
    }
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 /).waitFor();
    expect(given).toEqual([["one", "other"]]);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("fills the path of a call, and asks for credentials where the server needs them", async () => {
    const { httpUrl } = await startServer({ models, auth: await authFiles() });
    const page = await openPage(`${httpUrl}/docs`);
    await page.getByLabel(/Password or token/).fill(TOKENS.admin);
    await page.getByRole("button", { name: /sign in/i }).click();
    await page.getByRole("heading", { name: "KServe V2" }).click();
    await page.getByText("Describe a model", { exact: true }).first().click();
    await page.getByLabel("name", { exact: true }).fill("half");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 /).waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { name: /half/ }).first().waitFor();
  });
});
