import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startWeb } from "../../storage/start-web.ts";
import { startKserving } from "../start-kserving.ts";

const half = "test/fixtures/models/half-plus-two.onnx";

/** A web server with a model, and the built program with a cache of its own. */
async function open() {
  const web = await startWeb((request, response) => {
    response.statusCode = request.url === "/half.onnx?key=secret" ? 200 : 404;
    response.end(response.statusCode === 200 ? readFileSync(half) : "");
  });
  const cache = tempFolder({});
  const run = (...args: string[]) => startKserving(args, { XDG_CACHE_HOME: cache }).ended();
  return { model: `${web}/half.onnx?key=secret`, web, cache, run };
}

test("inspect looks at the file at an address, and shows the address without its secret", async () => {
  const { model, web, cache, run } = await open();
  const { code, stdout } = await run("inspect", model, "--json", "--driver", "onnx", "--driver", "tensorflow");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ path: `${web}/half.onnx`, format: "ONNX, IR version 8" });
  expect(stdout).toContain("is not a TensorFlow model");
  expect(stdout).not.toContain(cache);
  expect(stdout).not.toContain("secret");
  const missing = await run("inspect", `${web}/none.onnx`);
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("the server answers 404") });
});

test.each([
  ["infer", ["--input", "x=[1]"], "[2.5]"],
  ["client", [], "  half: {"],
  ["compare", [half, "--runs", "1"], "y       equal"],
  ["bench", ["--warm-up", "0.1", "--window", "0.1", "--max-windows", "3"], "/half, ONNX Runtime"],
])("%s takes the address of a file", { timeout: 60_000 }, async (command, flags, text) => {
  const { model, run } = await open();
  const { stderr, stdout } = await run(command, model, ...flags);
  expect([stderr, stdout]).toEqual([expect.not.stringContaining("kserving:"), expect.stringContaining(text)]);
});

test("replay says that a server's address is not a file of requests", async () => {
  const { run } = await open();
  const { code, stderr } = await run("replay", "localhost:9000");
  expect([code, stderr]).toEqual([2, expect.stringContaining("kserving replay FILE --against localhost:9000")]);
});
