import { describe, expect, it } from "vitest";
import { python, servePythonHandlers as serve } from "./serve-python-handlers.ts";

const PAIR = `
import json
def input_handler(data, context):
    if context.request_content_type != "text/x-own":
        raise ValueError("unsupported content type " + context.request_content_type)
    return json.dumps({"instances": [float(x) if x != "x" else x for x in data.read().decode("utf-8").split(";")]})
def output_handler(response, context):
    if response.status_code != 200:
        raise ValueError(response.content.decode("utf-8"))
    return ";".join(map(str, response.json()["predictions"])), context.accept_header`;

describe.skipIf(python === undefined)("inference.py", () => {
  it("makes the request of the model by input_handler, and the answer by output_handler", async () => {
    const { server, invoke } = await serve(PAIR);
    const headers = { "content-type": "text/x-own", accept: "text/x-other" };
    const first = await invoke("1;2", headers);
    expect(first).toEqual({ status: 200, type: "text/x-other", text: "2.5;3.0" });
    expect(await invoke("1;2", headers)).toEqual(first);
    expect(await invoke("[1]")).toMatchObject({
      status: 500,
      text: expect.stringContaining("The hook input_handler failed: ValueError: unsupported content type text/plain"),
    });
    expect(await invoke("x", headers)).toMatchObject({
      status: 500,
      text: expect.stringContaining("The hook output_handler failed: ValueError: {"),
    });
    const body = JSON.stringify({ instances: [1] });
    const plain = await fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body });
    expect(await plain.json()).toEqual({ predictions: [2.5] });
  });

  it("answers alone by handler, which asks the model at the context's URL", async () => {
    const { server, invoke } = await serve(`
import json, urllib.request
def handler(data, context):
    with urllib.request.urlopen(context.rest_uri, data.read()) as answer:
        told = dict(context._asdict(), answer=json.load(answer), channel=context.channel is None or str(context.channel))
    return json.dumps(told).encode(), "application/json"
def input_handler(data, context):
    raise RuntimeError("handler beats it")`);
    const attributes = "tfs-model-name=half,tfs-model-version=1,tfs-method=predict";
    const answer = await invoke('{"instances":[2]}', {
      "content-type": "a/b",
      "x-amzn-sagemaker-custom-attributes": attributes,
    });
    const port = new URL(server.httpUrl).port;
    expect(JSON.parse(answer.text)).toMatchObject({
      answer: { predictions: [3] },
      model_name: "half",
      model_version: "1",
      method: "predict",
      rest_uri: `http://localhost:${port}/v1/models/half/versions/1:predict`,
      grpc_port: server.grpcAddress.split(":").at(-1),
      custom_attributes: attributes,
      request_content_type: "a/b",
      accept_header: "*/*",
      content_length: 17,
    });
  });
});
