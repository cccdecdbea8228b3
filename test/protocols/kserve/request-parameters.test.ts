import { describe, expect, it } from "vitest";
import { testHooks } from "../../../src/tools/testing/testing.ts";
import { findPython } from "../../helpers/find-python.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Answers with the parameters as text, in which bigints end with n. */
const ECHO = `
const show = (_, value) => (typeof value === "bigint" ? value + "n" : value === Infinity ? "inf" : value);
export const inputs = [{ name: "text", dtype: "bytes", shape: [1] }];
export const postprocess = (_, ctx) => ({ seen: JSON.stringify(ctx.request.parameters, show) });
`;
const PYTHON_ECHO = `
import json

inputs = [{"name": "text", "dtype": "bytes", "shape": [1]}]

def postprocess(outputs, ctx):
    return {"seen": json.dumps(ctx.request["parameters"])}
`;

const GRPC_PARAMETERS = {
  max_tokens: { int64_param: 16 },
  seed: { uint64_param: "18446744073709551615" },
  temperature: { double_param: 0.5 },
  penalty: { double_param: Number.POSITIVE_INFINITY },
};

async function start(file: string, code: string, options: { workers?: number; listeners?: number } = {}) {
  const hooks = `${tempFolder({ [file]: code })}/${file}`;
  const { httpUrl, grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks, ...options });
  const ask = async (body: unknown, route = "infer") => {
    const url = `${httpUrl}/v2/models/default/${route}`;
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(url, { method: "POST", body: sent });
    return (await response.json()) as { outputs?: { data: string[] }[]; seen?: string; error?: string };
  };
  const asked = { inputs: [{ name: "text", datatype: "BYTES", shape: [1], data: ["a"] }] };
  const seen = async (parameters?: unknown) => {
    const { outputs, error } = await ask({ ...asked, parameters });
    return outputs === undefined ? error : JSON.parse(outputs[0]?.data[0] ?? "");
  };
  const seenOverGrpc = async () => {
    const inputs = [{ name: "text", datatype: "BYTES", shape: [1], contents: { bytes_contents: [Buffer.from("a")] } }];
    const call = connectKserve(grpcAddress);
    const answer = await call("ModelInfer", { model_name: "default", inputs, parameters: GRPC_PARAMETERS });
    const [output] = answer.outputs as { contents: { bytes_contents: Buffer[] } }[];
    return String(output?.contents.bytes_contents[0]);
  };
  return { ask, seen, seenOverGrpc };
}

const GIVEN = { max_tokens: 16, stop: "\n", temperature: 0.5, greedy: false };
/** Those that the protocol reads itself. */
const OWN = { priority: 1, timeout: 1_000_000, binary_data_output: false, triton_enable_empty_final_response: true };

describe("the parameters of a request", () => {
  it.each([0, 1])("reach hooks without those of the protocol, with --workers %d", async (workers) => {
    const { seen } = await start("hooks.ts", ECHO, { workers });
    expect(await seen({ ...GIVEN, ...OWN })).toEqual(GIVEN);
    expect(await seen(OWN)).toEqual({});
    expect(await seen()).toEqual({});
    expect(await seen({ toString: "own" })).toEqual({ toString: "own" });
    expect(await seen({ stop: ["a", "b"] })).toContain("expected a number, a string, true or false");
  });

  it("are the keys of generate that are no inputs", async () => {
    const { ask } = await start("hooks.ts", ECHO);
    const answer = await ask({ text: "a", max_tokens: 16, parameters: { stop: "." } }, "generate");
    expect(JSON.parse(answer.seen ?? "")).toEqual({ max_tokens: 16, stop: "." });
  });

  it.each([
    [{ priority: "high", timeout: "soon", triton_x: 1.5 }],
    // Microseconds in a queue where a request to infer has them.
    [{ priority: -1, timeout: 0.001, binary_data_output: "no", typed_outputs: 7 }],
    [{ signature_name: 1, strict_json: "yes", sequence_id: 0, sequence_start: "" }],
    [{ triton_enable_empty_final_response: true, binary_data_output: true, priority: 1, timeout: 1 }],
  ])("of generate are the model's whatever their names and types, as in Triton: %j", async (parameters) => {
    const { ask } = await start("hooks.ts", ECHO);
    for (const body of [
      { text: "a", ...parameters },
      { text: "a", parameters },
    ])
      expect(JSON.parse((await ask(body, "generate")).seen ?? "null")).toEqual(parameters);
  });

  it("of generate that the server knows by name and type stay the server's", async () => {
    const { ask } = await start("hooks.ts", ECHO);
    const answer = await ask({ text: "a", strict_json: true, signature_name: "serving_default", k: 1 }, "generate");
    expect(JSON.parse(answer.seen ?? "null")).toEqual({ k: 1 });
    expect((await ask({ text: "a", signature_name: "other" }, "generate")).error).toContain("other");
  });

  it("of generate that come twice count as they came first, and those in parameters last, as in Triton", async () => {
    const { ask } = await start("hooks.ts", ECHO);
    const answer = await ask(
      '{"text": "a", "k": 1, "k": 2, "n": 3, "parameters": {"n": 4, "n": 5, "7": 6}}',
      "generate",
    );
    expect(JSON.parse(answer.seen ?? "null")).toEqual({ k: 1, n: 4, 7: 6 });
  });

  it("have the same numbers over gRPC, and keep every digit", async () => {
    const { seenOverGrpc } = await start("hooks.ts", ECHO);
    expect(await seenOverGrpc()).toBe(
      '{"max_tokens":16,"seed":"18446744073709551615n","temperature":0.5,"penalty":"inf"}',
    );
  });

  it("are what a program gives its own server, and a test its hooks", async () => {
    const hooks = testHooks({ process: (_, ctx) => ({ count: Object.keys(ctx.request.parameters).length }) });
    const { outputs } = await hooks.run({}, { parameters: { top: 3n, k: 1 } });
    expect(outputs.count?.data[0]).toBe(2);
  });

  const python = findPython("Parameters in Python hooks", ["numpy"]);
  it.skipIf(python === undefined)("reach hooks in Python, where integers of 64 bits are ints", async () => {
    const { seen, seenOverGrpc } = await start("hooks.py", PYTHON_ECHO);
    expect(await seen(GIVEN)).toEqual(GIVEN);
    expect(await seenOverGrpc()).toBe(
      '{"max_tokens": 16, "seed": 18446744073709551615, "temperature": 0.5, "penalty": Infinity}',
    );
    expect(await seen()).toEqual({});
  });
});
