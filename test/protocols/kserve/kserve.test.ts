import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { binary, connect, floats, halfPlusTwo, INFER, nothing, post, split } from "./kserve-http.ts";

describe("KServe V2 over HTTP", () => {
  it("says that it lives, is ready, and what it serves", async () => {
    const get = await connect(halfPlusTwo);
    for (const [path, body] of [
      ["/v2/health/live", { live: true }],
      ["/v2/health/ready", { ready: true }],
      ["/v2/models/default/ready", { name: "default", ready: true }],
      ["/v2/models/default/versions/1/ready", { name: "default", ready: true }],
    ] as const) {
      const { status, headers, text } = await get(path);
      expect([status, headers.get("content-type"), JSON.parse(text)]).toEqual([200, "application/json", body]);
    }
    expect(JSON.parse((await get("/v2")).text)).toMatchObject({ name: "kserving" });
    expect(JSON.parse((await get("/v2/models")).text)).toEqual({ models: ["default"] });
    expect(JSON.parse((await get("/v2/models/default")).text)).toEqual({
      name: "default",
      versions: ["1"],
      platform: "onnxruntime_onnx",
      inputs: [{ name: "x", datatype: "FP32", shape: [-1] }],
      outputs: [{ name: "y", datatype: "FP32", shape: [-1] }],
      parameters: { sample_request: '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}' },
    });
    expect(JSON.parse((await get("/v2/models/default/config")).text)).toMatchObject({ max_batch_size: 0 });
    expect(JSON.parse((await get("/v2/repository/index", post("{}"))).text)).toEqual([
      { name: "default", version: "1", state: "READY", reason: "" },
    ]);
  });

  it("has no regions of shared memory unless it is asked to", async () => {
    const send = await connect(nothing);
    for (const kind of ["system", "cuda"]) {
      expect(await send(`/v2/${kind}sharedmemory/status`)).toMatchObject({ status: 200, text: "[]" });
      for (const call of ["unregister", "region/r/unregister", "region/r/register"]) {
        const answer = await send(`/v2/${kind}sharedmemory/${call}`, post(""));
        expect(answer).toMatchObject({
          status: 501,
          text: expect.stringContaining("Client shared memory is disabled."),
        });
      }
    }
  });

  it.each([
    ["8", "FP32", floats(1, 2), [1, 2]],
    [" 8 ", "FP32", floats(1, 2), [1, 2]],
    ["10", "BYTES", Buffer.from("\x01\0\0\0a\x01\0\0\0b"), ["a", "b"]],
  ])("takes the size %j, written as text, of binary %s data", async (size, datatype, bytes, data) => {
    const send = await connect(nothing);
    const x = { name: "x", shape: [2], datatype, parameters: { binary_data_size: size } };
    const { json } = split(await send(INFER, binary({ inputs: [x] }, bytes)));
    expect(json.outputs).toEqual([{ name: "x", datatype, shape: [2], data }]);
  });

  it("infers from JSON, flat or nested, and answers flat", async () => {
    const send = await connect(nothing);
    for (const data of [
      [1, 2, 3, 4],
      [
        [1, 2],
        [3, 4],
      ],
    ]) {
      const body = { id: "a", inputs: [{ name: "x", shape: [2, 2], datatype: "FP32", data }] };
      expect(JSON.parse((await send(INFER, post(JSON.stringify(body)))).text)).toEqual({
        id: "a",
        model_name: "default",
        model_version: "1",
        outputs: [{ name: "x", datatype: "FP32", shape: [2, 2], data: [1, 2, 3, 4] }],
      });
    }
  });

  it.each<[string, unknown[]]>([
    ["BOOL", [true, false]],
    ["UINT8", [0, 255]],
    ["INT8", [-128, 127]],
    ["UINT64", [0, 1]],
    ["FP16", [1.5, -0.25]],
    ["BF16", [1.5, -2]],
    ["FP64", [1e300, 0.1]],
    ["BYTES", ["é", ""]],
  ])("carries %s in JSON", async (datatype, data) => {
    const send = await connect(nothing);
    const inputs = [{ name: "x", shape: [2], datatype, data }];
    const { json } = split(await send(INFER, post(JSON.stringify({ inputs }))));
    expect(json.outputs).toEqual([{ name: "x", datatype, shape: [2], data }]);
  });

  it("keeps 64-bit integers exact in JSON", async () => {
    const send = await connect(nothing);
    const body =
      '{"inputs":[{"name":"x","shape":[2],"datatype":"INT64","data":[9007199254740993,-9223372036854775808]}]}';
    expect((await send(INFER, post(body))).text).toContain('"data":[9007199254740993,-9223372036854775808]');
  });

  it("writes NaN and infinities as words, or as null where strict JSON is asked for", async () => {
    const send = await connect(nothing);
    const inputs = '"inputs":[{"name":"x","shape":[3],"datatype":"FP32","data":[NaN,Infinity,-Infinity]}]';
    expect((await send(INFER, post(`{${inputs}}`))).text).toContain('"data":[NaN,Infinity,-Infinity]');
    const strict = await send(INFER, post(`{"parameters":{"strict_json":true},${inputs}}`));
    expect(JSON.parse(strict.text).outputs[0].data).toEqual([null, null, null]);
  });

  it("takes binary and JSON inputs mixed, and gives each output as it was asked for", async () => {
    const send = await connect(nothing);
    const answer = await send(
      INFER,
      binary(
        {
          inputs: [
            { name: "a", shape: [2], datatype: "FP32", parameters: { binary_data_size: 8 } },
            { name: "b", shape: [1], datatype: "INT32", data: [7] },
            { name: "c", shape: [1], datatype: "BYTES", parameters: { binary_data_size: 6 } },
          ],
          outputs: [{ name: "a", parameters: { binary_data: true } }, { name: "b" }, { name: "c" }],
        },
        floats(1, 2),
        Buffer.of(2, 0, 0, 0, 104, 105),
      ),
    );
    const { json, rest } = split(answer);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(json.outputs).toEqual([
      { name: "a", datatype: "FP32", shape: [2], parameters: { binary_data_size: 8 } },
      { name: "b", datatype: "INT32", shape: [1], data: [7] },
      { name: "c", datatype: "BYTES", shape: [1], data: ["hi"] },
    ]);
    expect(rest).toEqual(floats(1, 2));
  });

  it("computes sizes that are left out where it can, and answers all in bytes when asked", async () => {
    const send = await connect(nothing);
    const inputs = [
      { name: "a", shape: [2], datatype: "FP32" },
      { name: "b", shape: [1], datatype: "BYTES" },
    ];
    const parameters = { binary_data_output: true };
    const text = Buffer.of(1, 0, 0, 0, 120);
    const { json, rest } = split(await send(INFER, binary({ parameters, inputs }, floats(1, 2), text)));
    expect(json.outputs).toMatchObject([
      { parameters: { binary_data_size: 8 } },
      { parameters: { binary_data_size: 5 } },
    ]);
    expect(rest).toEqual(Buffer.concat([floats(1, 2), text]));
  });

  it("takes a body that is the only input's tensor", async () => {
    const send = await connect(halfPlusTwo);
    const answer = await send(INFER, post(floats(1, 2), { "inference-header-content-length": "0" }));
    expect(split(answer)).toMatchObject({
      json: { outputs: [{ name: "y", shape: [2], parameters: { binary_data_size: 8 } }] },
      rest: floats(2.5, 3),
    });
  });

  it("takes images without a length of their own, as they were sent in 2022, and with it", async () => {
    const send = await connect(nothing);
    const [one, two] = [Buffer.of(0xff, 0xd8, 0xff, 1), Buffer.of(0x89, 0x50)];
    const old = { name: "x", shape: [2], datatype: "BYTES", parameters: { binary_data_size: "4,2" } };
    const form = { parameters: { binary_data_output: true } };
    const whole = Buffer.concat([Buffer.of(4, 0, 0, 0), one, Buffer.of(2, 0, 0, 0), two]);
    expect(split(await send(INFER, binary({ ...form, inputs: [old] }, one, two))).rest).toEqual(whole);
    const now = { ...old, parameters: { binary_data_size: whole.length } };
    expect(split(await send(INFER, binary({ ...form, inputs: [now] }, whole))).rest).toEqual(whole);
    const bare = { name: "x", shape: [1], datatype: "BYTES" };
    expect(split(await send(INFER, binary({ ...form, inputs: [bare] }, one))).rest).toEqual(whole.subarray(0, 8));
    const shortest = one.subarray(0, 3);
    expect(split(await send(INFER, binary({ ...form, inputs: [bare] }, shortest))).rest.subarray(4)).toEqual(shortest);
  });

  it.each([
    ["BMP", 0x4d42],
    ["TIFF", 0x2a4949],
  ])("takes a length for one, even where it begins as a %s does", async (_, length) => {
    const send = await connect(nothing);
    const body = Buffer.alloc(4 + length, 1);
    body.writeUInt32LE(length);
    const inputs = [{ name: "x", shape: [1], datatype: "BYTES" }];
    const answer = await send(INFER, binary({ parameters: { binary_data_output: true }, inputs }, body));
    expect(split(answer).rest.equals(body)).toBe(true);
  });

  it("takes compressed bodies, whose JSON length counts after inflation", async () => {
    const send = await connect(nothing);
    const json = Buffer.from('{"inputs":[{"name":"x","shape":[1],"datatype":"FP32"}]}');
    const body = gzipSync(Buffer.concat([json, floats(3)]));
    const headers = { "content-encoding": "gzip", "inference-header-content-length": String(json.length) };
    expect(split(await send(INFER, post(body, headers))).json.outputs).toMatchObject([{ data: [3] }]);
  });

  it.each(["gzip", "deflate"])("answers compressed with %s to a client that accepts only that", async (encoding) => {
    const send = await connect(nothing);
    const inputs = [{ name: "x", shape: [100], datatype: "INT32", data: new Array(100).fill(7) }];
    const answer = await send(INFER, post(JSON.stringify({ inputs }), { "accept-encoding": encoding }));
    expect(answer.headers.get("content-encoding")).toBe(encoding);
    expect(Number(answer.headers.get("content-length"))).toBeLessThan(200);
    expect(JSON.parse(answer.text).outputs[0].data).toEqual(inputs[0]?.data);
    const plain = await send(INFER, post(JSON.stringify({ inputs }), { "accept-encoding": "gzip, deflate" }));
    expect(plain.headers.get("content-encoding")).toBeNull();
  });

  it("does not compress other answers, which Triton's client does not inflate", async () => {
    const send = await connect(nothing);
    const answer = await send("/v2/models/stats", { headers: { "accept-encoding": "gzip" } });
    expect([answer.headers.get("content-encoding"), answer.text.length > 256]).toEqual([null, true]);
  });
});
