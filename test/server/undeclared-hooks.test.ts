import { expect, test } from "vitest";
import { exampleHeading, exampleRequest } from "../../src/cli/status-reporter/report-example.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const identity = (dtype: string) => `test/fixtures/models/identity-${dtype}.onnx`;

/** Hooks that pass on what they are given, and note its dtype. */
function passOn(): { readonly hooks: Hooks; readonly seen: unknown[] } {
  const seen: unknown[] = [];
  const preprocess = (inputs: Tensors) => {
    seen.push(inputs.x?.dtype);
    return inputs;
  };
  return { hooks: { preprocess }, seen };
}

test.each([
  ["float32", "[1, 2]", "float32"],
  ["float64", "[0.1, 2]", "float64"],
  ["uint8", "[1, 255]", "uint8"],
  ["int64", "[1, 2]", "int64"],
])("hooks that declare nothing pass numbers of JSON on to a model of %s", async (dtype, x, came) => {
  const { hooks, seen } = passOn();
  const { httpUrl } = await startServer({ models: { m: { path: identity(dtype), hooks } } });
  const requests = [
    ["/predict", `{"x": ${x}}`],
    ["/v1/models/m:predict", `{"inputs": {"x": ${x}}}`],
    ["/v1/models/m:predict", `{"instances": [${JSON.parse(x).map((one: number) => `{"x": ${one}}`)}]}`],
    ["/v2/models/m/generate", `{"x": ${x}}`],
    ["/", `{"model_name": "m", "data": {"x": ${x}}}`],
  ] as const;
  for (const [path, body] of requests) {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(httpUrl + path, { method: "POST", body, headers });
    const text = await answer.text();
    expect([path, answer.status, text.replace(/\s/g, "")]).toEqual([
      path,
      200,
      expect.stringContaining(x.split(", ")[0]?.slice(1) ?? ""),
    ]);
  }
  expect(seen).toEqual(requests.map(() => came));
});

test("rows without names are for the model's only input, and refused with what to send if it has several", async () => {
  const seen: string[] = [];
  const preprocess = (inputs: Tensors) => {
    seen.push(...Object.keys(inputs));
    return inputs;
  };
  const path = identity("float32");
  const two = "test/fixtures/models/add-two-inputs.onnx";
  const { httpUrl } = await startServer({
    models: { one: { path, hooks: { preprocess } }, two: { path: two, hooks: { preprocess } } },
  });
  const send = async (model: string, body: string, type = "application/json") => {
    const sent = { method: "POST", body, headers: { "content-type": type } };
    const answer = await fetch(`${httpUrl}/predict/${model}`, sent);
    return [answer.status, await answer.text()];
  };
  expect(await send("one", "[1, 2]")).toEqual([200, '{"y":[1.0,2.0]}']);
  expect((await send("one", `[${"1, ".repeat(100_000)}2]`))[0]).toBe(200);
  expect(seen).toEqual(["x", "x"]);
  for (const body of ["[1, 2]", `[${"1, ".repeat(100_000)}2]`])
    expect(await send("two", body)).toEqual([400, expect.stringMatching(/no names.+the model takes .+send an object/)]);
  expect(seen).toEqual(["x", "x"]);
});

test.each([
  ["uint8", "[1, 256]", "int32"],
  ["float32", "[1, 16777217]", "int32"],
  ["int32", "[1, 2.5]", "float32"],
  ["float32", '["a"]', "bytes"],
  ["float32", "[true]", "bool"],
])("values that a model of %s does not hold reach its hooks as they are without it: %s", async (dtype, x, came) => {
  const { hooks, seen } = passOn();
  const { httpUrl } = await startServer({ models: { m: { path: identity(dtype), hooks } } });
  const answer = await fetch(`${httpUrl}/v1/models/m:predict`, { method: "POST", body: `{"inputs": {"x": ${x}}}` });
  expect(answer.status).toBe(500);
  expect(await answer.text()).toContain("The hook preprocess gave the model what it does not take");
  expect(seen).toEqual([came]);
});

test("other names, and hooks that declare their inputs, have types of their own", async () => {
  const seen: unknown[] = [];
  const process = (inputs: Tensors) => {
    seen.push(...Object.values(inputs).map(({ dtype }) => dtype));
    return { y: 1 };
  };
  const inputs = [{ name: "x", dtype: "int32", shape: [-1] }] as const;
  const path = identity("float64");
  const { httpUrl } = await startServer({
    models: { any: { path, hooks: { process } }, own: { path, hooks: { inputs, process } } },
  });
  for (const [model, name] of [
    ["any", "z"],
    ["any", "x"],
    ["own", "x"],
  ] as const)
    await fetch(`${httpUrl}/predict/${model}`, { method: "POST", body: `{"${name}": [1]}` });
  expect(seen).toEqual(["int32", "float64", "int32"]);
});

test("the line to try hooks that declare nothing has the model's inputs, is marked as a guess, and runs", async () => {
  const folder = tempFolder({ "hooks.ts": "export const preprocess = (inputs: object) => inputs;" });
  const path = "test/fixtures/models/half-plus-two.onnx";
  const server = await startServer({ models: { half: { path, hooks: `${folder}/hooks.ts` } } });
  const { httpUrl, grpcAddress } = server;
  const example = await server.exampleInputs();
  expect(exampleHeading(example ?? expect.unreachable())).toContain("not tried");
  const target = { name: "half", grpcAddress, httpUrl, serves: () => true };
  const line = exampleRequest({ ...target, ...(example ?? expect.unreachable()) }) ?? "";
  const [, url = "", body = ""] = /^curl (\S+) -d '(.+)'$/.exec(line) ?? [];
  const answer = await fetch(url, { method: "POST", body });
  expect([answer.status, body, await answer.json()]).toEqual([200, '{"inputs":{"x":[0]}}', { outputs: [2] }]);
});
