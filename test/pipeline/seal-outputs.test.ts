import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { pickOutputs } from "../../src/pipeline/seal-outputs.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("outputs are picked in the order that was asked for, and one that is not there is named", () => {
  const tensors = toTensors({ a: 1, b: 2 });
  expect(Object.entries(pickOutputs(tensors, ["b", "a"]))).toEqual([
    ["b", tensors.b],
    ["a", tensors.a],
  ]);
  expect(() => pickOutputs(tensors, ["c"])).toThrow(/not found in signature: c .* in the set \{a,b\}/);
  expect(() => pickOutputs(tensors, ["toString"])).toThrow(/not found in signature: toString/);
});

describe("an answer that lacks an output which its hooks declare", () => {
  const declared = 'export const outputs = [{ name: "label", dtype: "bytes" }, { name: "score", dtype: "float32" }];';

  async function answerOf(hooks: string) {
    const file = join(tempFolder({ "hooks.mjs": `${declared}\n${hooks}` }), "hooks.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const body = '{"inputs": {"x": [1]}}';
    const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
    return [response.status, JSON.parse(await response.text())];
  }

  it.each([
    ["postprocess", 'export const postprocess = () => ({ lable: "a", score: 1 });'],
    ["process", 'export const process = () => ({ lable: "a", score: 1 });'],
    ["process", 'export const process = async function* () { yield { lable: "a" }; };'],
  ])("is a failure of its hook %s, with the name that was meant", async (hook, hooks) => {
    const [status, { error }] = await answerOf(hooks);
    expect(status).toBe(500);
    expect(error).toMatch(
      new RegExp(
        `^The hook ${hook}.* did not return the declared output.* "label".*"lable" \\(did you mean "label"\\?\\)`,
      ),
    );
  });

  it("is none where all are there, nor where they are parts of an answer", async () => {
    const whole = 'export const process = () => ({ label: "a", score: 0.5, more: [1] });';
    expect((await answerOf(whole))[0]).toBe(200);
    const parts = 'export const process = async function* () { yield { label: "a" }; yield { score: 0.5 }; };';
    const file = join(tempFolder({ "hooks.mjs": `${declared}\n${parts}` }), "hooks.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const headers = { accept: "application/x-ndjson" };
    const request = { method: "POST", body: '{"inputs": {"x": [1]}}', headers };
    const text = await (await fetch(`${httpUrl}/v1/models/default:predict`, request)).text();
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([{ outputs: "a" }, { outputs: 0.5 }]);
  });
});
