import { describe, expect, it } from "vitest";
import { binary, connectOnce, floats, halfPlusTwo, INFER, nothing, post } from "./kserve-http.ts";

describe("KServe V2 over HTTP", () => {
  const send = connectOnce(nothing);
  const sendToModel = connectOnce(halfPlusTwo);
  const x = { name: "x", shape: [2], datatype: "FP32" };
  it.each<[string, RequestInit, number, string]>([
    ["JSON that is no object", post("[]"), 400, "expected an object"],
    ["no inputs", post("{}"), 400, "Unable to parse 'inputs': it is missing or is not a list"],
    ["inputs that are numbers", post('{"inputs":[1]}'), 400, "it is a list of numbers; expected one of objects"],
    [
      "outputs that are no list",
      post('{"inputs":[],"outputs":{}}'),
      400,
      "Unable to parse 'outputs': it is missing or",
    ],
    [
      "a negative dimension",
      post(JSON.stringify({ inputs: [{ ...x, shape: [-1], data: [1] }] })),
      400,
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "data that do not fill the shape",
      post(JSON.stringify({ inputs: [{ ...x, data: [1] }] })),
      400,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      "ragged data",
      post(JSON.stringify({ inputs: [{ ...x, data: [[1], 2] }] })),
      400,
      "Unable to parse 'data' of input 'x'",
    ],
    [
      "a number that its type would make infinite",
      post(JSON.stringify({ inputs: [{ ...x, data: [1, 1e39] }] })),
      400,
      "Unable to parse 'data' of input 'x': 1e+39 is not a value of float32",
    ],
    [
      "a value of another type",
      post(JSON.stringify({ inputs: [{ ...x, data: ["a", "b"] }] })),
      400,
      "Unable to parse 'data' of input 'x': \"a\" is not a value of float32",
    ],
    [
      "a text that is missing",
      post(JSON.stringify({ inputs: [{ ...x, datatype: "BYTES", data: [["a"], [null]] }] })),
      400,
      "Unable to parse 'data' of input 'x': element [1][0] is null, which is no value of bytes",
    ],
    [
      "data beside binary data",
      binary({ inputs: [{ ...x, data: [1, 2], parameters: { binary_data_size: 8 } }] }, floats(1, 2)),
      400,
      "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters'",
    ],
    [
      "a size beyond the body",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: 8 } }] }, Buffer.alloc(6)),
      400,
      "unexpected size for input 'x', expecting 2 additional bytes for model 'default'",
    ],
    [
      "a size that does not fit the shape",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: 4 } }] }, Buffer.alloc(4)),
      400,
      "[request id: <id_unknown>] input byte size mismatch for input 'x' for model 'default'. Expected 8, got 4",
    ],
    [
      "a negative size",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: -8 } }] }, Buffer.alloc(8)),
      400,
      "parameter 'binary_data_size' is -8; expected an integer of 0 or more",
    ],
    [
      "sizes that are no numbers",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: "a,b" } }] }, Buffer.alloc(8)),
      400,
      "binary_data_size parameter is invalid and cannot be parsed: 'a,b'",
    ],
    [
      "sizes that are too many to be looked at",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: `1${",1".repeat(20_000_000)}` } }] }, Buffer.alloc(8)),
      400,
      "binary_data_size parameter is invalid and cannot be parsed: '1,1,1,",
    ],
    [
      "bytes that are left over",
      binary({ inputs: [x] }, Buffer.alloc(9)),
      400,
      "unexpected additional input data for model 'default'",
    ],
    [
      "an input in shared memory",
      post(
        JSON.stringify({ inputs: [{ ...x, parameters: { shared_memory_region: "r", shared_memory_byte_size: 8 } }] }),
      ),
      400,
      "input 'x' is in shared memory (shared_memory_region), of which this server has none",
    ],
    [
      "an output that is to go to shared memory",
      post(
        JSON.stringify({
          inputs: [{ ...x, data: [1, 2] }],
          outputs: [{ name: "x", parameters: { shared_memory_region: "r", shared_memory_byte_size: 8 } }],
        }),
      ),
      400,
      "output 'x' is in shared memory",
    ],
    [
      "one size for several images of another type than BYTES",
      binary({ inputs: [{ ...x, parameters: { binary_data_size: "4,4" } }] }, Buffer.alloc(8)),
      400,
      "binary_data_size has 2 sizes for input 'x', which is FP32; expected one",
    ],
    [
      "bytes that overflow",
      post(JSON.stringify({ inputs: [{ ...x, shape: [4, 2 ** 60], data: [1] }] })),
      400,
      "byte size overflow for input 'x': element count (4611686018427387904) * data type size (4) exceeds maximum",
    ],
    [
      "more dimensions than any runtime takes",
      post(JSON.stringify({ inputs: [{ ...x, shape: Array(255).fill(1), data: [1] }] })),
      400,
      "Unable to parse 'shape': input 'x' has 255 dimensions; a tensor may have 254 at most",
    ],
    [
      "more texts than the shape says",
      binary({ inputs: [{ ...x, datatype: "BYTES", shape: [1] }] }, Buffer.alloc(8)),
      400,
      "unexpected number of string elements 2 for inference input 'x' for model 'default', expecting 1",
    ],
    [
      "dimensions that overflow",
      post(JSON.stringify({ inputs: [{ ...x, shape: [4294967296, 4294967296], data: [1] }] })),
      400,
      "causes total element count to exceed maximum size of 9223372036854775807",
    ],
    ["a body that is no gzip", post("{}", { "content-encoding": "gzip" }), 400, ""],
    [
      "a text's length that is cut short",
      binary({ inputs: [{ ...x, datatype: "BYTES", shape: [1] }] }, Buffer.of(1, 0)),
      400,
      "[request id: <id_unknown>] incomplete string length indicator for inference input 'x'",
    ],
    [
      "a text that is cut short",
      binary({ inputs: [{ ...x, datatype: "BYTES", shape: [1] }] }, Buffer.of(9, 0, 0, 0, 65)),
      400,
      "expecting string of length 9 but only 1 bytes available",
    ],
    [
      "an input twice",
      post(
        JSON.stringify({
          inputs: [
            { ...x, data: [1, 2] },
            { ...x, data: [1, 2] },
          ],
        }),
      ),
      400,
      "input 'x' already exists in request for model 'default'",
    ],
    [
      "an unknown datatype",
      post(JSON.stringify({ inputs: [{ ...x, datatype: "FP31", data: [1, 2] }] })),
      400,
      "invalid datatype 'FP31' for input 'x'",
    ],
    [
      "a header length below zero",
      post("{}", { "Inference-Header-Content-Length": "-5" }),
      400,
      "inference header size should be in range (0, 2), got: -5",
    ],
    [
      "a header length that is no number",
      post("{}", { "Inference-Header-Content-Length": "abc" }),
      400,
      "Unable to parse Inference-Header-Content-Length, got: abc",
    ],
    [
      "a header length that no integer holds",
      post("{}", { "Inference-Header-Content-Length": "99999999999999999999" }),
      400,
      "inference header size should be in range (0, 2), got: 99999999999999999999",
    ],
    [
      "a header length beyond the body",
      post("{}", { "Inference-Header-Content-Length": "3" }),
      400,
      "inference header size should be in range (0, 2), got: 3",
    ],
    [
      "a raw body for a model whose inputs are not known",
      post("ab", { "Inference-Header-Content-Length": "0" }),
      400,
      "Raw request must only have 1 input (found 1) to be deduced but got 0 inputs in 'default' model configuration",
    ],
  ])("refuses %s", async (_, init, status, text) => {
    const answer = await send(INFER, init);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error).toContain(text);
  });

  it.each([
    ["{", "failed to parse the request JSON buffer: Missing a name for object member. at 1"],
    ["[]", "failed to parse the request JSON buffer: it is []; expected an object"],
    ['{"ready":"yes"}', "Invalid value for 'ready': expected a boolean"],
  ])("refuses an index asked for with %s", async (body, error) => {
    const answer = await send("/v2/repository/index", post(body));
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error }]);
  });

  it("knows that a model is unknown before it reads what it is asked", async () => {
    const answer = await send("/v2/models/no/infer", post("{"));
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      404,
      { error: "Request for unknown model: 'no' is not found. This server has default." },
    ]);
  });

  it.each<[string, RequestInit, string]>([
    [
      "no input",
      post('{"inputs":[]}'),
      "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'default'. Got input(s) [], but missing required input(s) ['x']. Please provide all required input(s). The model takes 'x' FP32 [-1].",
    ],
    [
      "another datatype",
      post('{"id":"7","inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}'),
      "[request id: 7] inference input 'x' data-type is 'INT32', but model 'default' expects 'FP32'",
    ],
    [
      "another rank",
      post('{"inputs":[{"name":"x","shape":[1,1],"datatype":"FP32","data":[1]}]}'),
      "[request id: <id_unknown>] unexpected shape for input 'x' for model 'default'. Expected [-1], got [1,1].",
    ],
    [
      "an image for an input that takes none",
      post('{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","data":["a"]}]}'),
      "[request id: <id_unknown>] inference input 'x' data-type is 'BYTES', but model 'default' expects 'FP32'",
    ],
    [
      "an input of another name",
      post('{"inputs":[{"name":"z","shape":[1],"datatype":"FP32","data":[1]}]}'),
      "unexpected inference input 'z' for model 'default'. The model takes 'x' FP32 [-1].",
    ],
    [
      "an output twice",
      post('{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"y"},{"name":"y"}]}'),
      "[request id: <id_unknown>] output 'y' already exists in request",
    ],
    [
      "a raw body of no whole number of values",
      post("abc", { "inference-header-content-length": "0" }),
      "[request id: <id_unknown>] input byte size mismatch for input 'x' for model 'default'. Expected 0, got 3",
    ],
  ])("refuses %s in Triton's words", async (_, init, text) => {
    const answer = await sendToModel(INFER, init);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error: text }]);
  });

  it.each<[string, string, number, string]>([
    ["GET", "/v2/models/no", 404, "Request for unknown model: 'no' is not found"],
    ["GET", "/v2/models/default/versions/9", 404, "Request for unknown model: 'default' version 9 is not found"],
    ["GET", "/v2/models/no/ready", 404, "Request for unknown model: 'no' is not found"],
    ["GET", "/v2/models/default/versions/x", 404, 'Not Found: "x" is not a version; expected a number, such as 1.'],
    ["POST", "/v2/models/default/versions/x/infer", 404, 'Not Found: "x" is not a version'],
    ["GET", "/v2/models/default/versions/1.5/infer", 404, 'Not Found: "1.5" is not a version'],
    ["GET", "/v2/models/default/versions/1/infer", 405, "Method Not Allowed"],
    ["GET", "/v2/models/default/versions/0", 400, "version should be an integral value > 0"],
    ["GET", "/v2/nothing", 404, "Not Found"],
    ["GET", "/v2/models/default/infer", 405, "Method Not Allowed"],
    ["POST", "/v2/health/live", 405, "Method Not Allowed"],
    ["GET", "/v2/systemsharedmemory/region/r%2Fs/status", 404, "Unable to find system shared memory region: 'r/s'"],
    ["GET", "/v2/cudasharedmemory/region/r/status", 404, "Unable to find cuda shared memory region: 'r'"],
    ["POST", "/v2/systemsharedmemory/status", 405, "Method Not Allowed"],
    ["POST", "/v2/systemsharedmemory/register", 400, "'region name' is necessary to register system shared memory"],
    ["GET", "/v2/models/defualt", 404, 'is not found. Did you mean "default"? This server has default.'],
    ["GET", "/v2/models/defualt/stats", 404, 'is not found. Did you mean "default"? This server has default.'],
    ["GET", "/v2/models/default/versions/9", 404, "version 9 is not found. It has version 1."],
    ["POST", "/v2/repository/models/%20/load", 400, "Model name cannot be empty. Please enter a valid name to deploy."],
    ["POST", "/v2/repository/models/..%2Fno/load", 400, "model name must not contain path traversal characters"],
    [
      "POST",
      "/v2/repository/models/no/load",
      404,
      "failed to load 'no', failed to poll from model repository. There is",
    ],
  ])("answers %s %s with %i", async (method, path, status, text) => {
    const answer = await send(path, { method });
    expect([answer.status, JSON.parse(answer.text).error]).toEqual([status, expect.stringContaining(text)]);
  });
});
