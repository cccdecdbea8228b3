import { describe, expect, it } from "vitest";
import { findSagemakerModels } from "../../../src/serving/repository/formats/sagemaker.ts";
import { startKserving } from "../../cli/start-kserving.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { python, servePythonHandlers } from "./serve-python-handlers.ts";

const MODEL_FN = `
import json, os
class Sum:
    def __init__(self, factor):
        self.factor = factor
    def predict(self, rows):
        return [self.factor * sum(row) for row in rows]
def model_fn(model_dir):
    with open(os.path.join(model_dir, "factor.txt")) as file:
        return Sum(float(file.read()))
`;

async function serve(source: string, files: Readonly<Record<string, string>> = { "factor.txt": "2" }) {
  const folder = tempFolder({ ...files, "code/inference.py": source });
  const [model] = await findSagemakerModels(folder, undefined);
  expect(model).toMatchObject({ name: "model", stages: [{ driver: "null" }], hooks: `${folder}/code/inference.py` });
  const own = { driver: "null", hooks: String(model?.hooks), options: { python: python as string } };
  const { httpUrl } = await startServer({ models: { model: own } });
  return async (body: string, type = "application/json", accept = "*/*") => {
    const headers = { "content-type": type, accept };
    const answer = await fetch(`${httpUrl}/invocations`, { method: "POST", body, headers });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
}

describe.skipIf(python === undefined)("the functions of SageMaker's toolkits", () => {
  it("may be in the file that SAGEMAKER_PROGRAM names", async () => {
    const folder = tempFolder({ "factor.txt": "2", "code/score.py": MODEL_FN });
    const names = { SM_MODEL_DIR: folder, SAGEMAKER_PROGRAM: "score.py", SAGEMAKER_BIND_TO_PORT: "0" };
    const program = startKserving(["serve"], { ...names, KSERVING_PORT: "0", KSERVING_OPTION: `python=${python}` });
    const { http } = await program.event("ready");
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${http}/invocations`, { method: "POST", body: "[[1, 2]]", headers });
    expect(await answer.text()).toBe("[6.0]");
  });

  it("load the model themselves, and answer as the toolkits do where the file leaves one out", async () => {
    const invoke = await serve(MODEL_FN);
    expect(await invoke("[[1, 2], [3, 4]]")).toEqual({ status: 200, type: "application/json", text: "[6.0, 14.0]" });
    expect(await invoke("1,2\n3,4\n", "text/csv", "text/csv")).toEqual({
      status: 200,
      type: "text/csv",
      text: "6.0\n14.0\n",
    });
    expect(await invoke("x", "image/png")).toMatchObject({
      status: 500,
      text: expect.stringContaining("The content type is image/png; expected application/json, text/csv"),
    });
  });

  it("are called with the text, the content type and what the client accepts; newer ones with a context", async () => {
    const invoke = await serve(`${MODEL_FN}
def input_fn(body, content_type, context):
    assert content_type == "application/json" and isinstance(body, str) and context.accept_header
    return json.loads(body)["rows"]
def predict_fn(data, model):
    return model.predict(data)
def output_fn(prediction, accept):
    return json.dumps({"out": prediction, "accept": accept}), "text/x-own"
`);
    const answer = await invoke('{"rows": [[1, 2]]}', "application/json", "text/csv");
    expect(answer).toMatchObject({ status: 200, type: "text/x-own", text: '{"out": [6.0], "accept": "text/csv"}' });
    expect(await invoke("[]")).toMatchObject({ status: 500, text: expect.stringContaining("TypeError") });
    expect(await invoke('{"rows": [[1, 2]]}')).toMatchObject({ status: 200 });
  });

  it("may be transform_fn, which does the work of the others, and not beside them", async () => {
    const invoke = await serve(`${MODEL_FN}
def transform_fn(model, body, content_type, accept):
    return str(model.predict(json.loads(body))[0]), accept
`);
    expect(await invoke("[[1, 2]]")).toMatchObject({ status: 200, text: "6.0" });
    const both = "def model_fn(d): return d\ndef transform_fn(*a): pass\ndef input_fn(*a): pass\n";
    await expect(serve(both)).rejects.toThrow("expected transform_fn alone");
    await expect(serve(MODEL_FN, {})).rejects.toThrow(/inference\.py:\d+: model_fn failed: FileNotFoundError/);
  });

  it("run the server's model where there is no model_fn", async () => {
    const { invoke } = await servePythonHandlers(`
import json
import numpy as np
def input_fn(body, content_type): return np.array(json.loads(body)["rows"], np.float32)
def output_fn(prediction, accept): return json.dumps({"out": prediction.tolist()})
`);
    const answer = await invoke('{"rows": [1, 2]}', { "content-type": "application/json" });
    expect(answer).toMatchObject({ status: 200, text: '{"out": [2.5, 3.0]}' });
  });
});
