import { describe, expect, test } from "vitest";
import { authFiles } from "../access/auth-fixture.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const stages = [{ driver: "null" }];

describe.skipIf(lacksChromium())("the page in a browser", () => {
  test("shows models with their states, chains and signatures, in light and dark, and on a phone", async () => {
    const hooks = {
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
      preprocess: (inputs: object) => inputs,
    } as const;
    const { httpUrl } = await startServer({
      models: { echo: { stages, hooks: hooks as never }, gone: { path: "/no/such.onnx" } },
    });
    for (const [colorScheme, width] of [
      ["light", 1200],
      ["dark", 390],
    ] as const) {
      const page = await openPage(httpUrl, { colorScheme, viewport: { width, height: 800 } });
      await page.getByRole("heading", { name: "echo version 1 ready" }).waitFor();
      const chain = page.getByRole("list").filter({ hasText: "request" });
      expect(await chain.getByRole("listitem").allInnerTexts()).toEqual([
        ...["request", "preprocess\nhook", expect.stringMatching(/^model 1\nnull\n/), "answer"],
      ]);
      expect(await page.getByRole("row", { name: "x FP32 [any, 2]" }).count()).toBe(1);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      expect(await seriousFindings(page)).toEqual([]);
      await page.getByRole("link", { name: /^gone/ }).press("Enter");
      await page.getByText("does not exist").waitFor();
    }
  });

  test("asks for a password where callers need one, and says that a wrong one is wrong", async () => {
    const { httpUrl } = await startServer({ stages, auth: await authFiles() });
    const page = await openPage(httpUrl);
    await page.getByLabel("Password or token").fill("a pässword → of alice");
    await page.keyboard.press("Enter");
    await page.getByText("a password needs its user").waitFor();
    await page.getByLabel("User").fill("alice");
    await page.getByLabel("Password or token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The user or the password is wrong.").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel("Password or token").fill("open sesame");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default version 1 ready" }).waitFor();
    await page.getByText("version 0.1.0, alice").waitFor();
  });

  test("reloads a model, unloads it, and loads it again", async () => {
    const { httpUrl } = await startServer({ stages, allowControl: "local" });
    const page = await openPage(`${httpUrl}/ui`);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("default is reloaded.").waitFor();
    await page.getByRole("button", { name: "Unload" }).click();
    await page.getByText("default is unloaded.").waitFor();
    await page.getByRole("heading", { name: "default version 1 not loaded" }).waitFor();
    await page.getByRole("button", { name: "Load" }).click();
    await page.getByRole("heading", { name: "default version 1 ready" }).waitFor();
  });
});
