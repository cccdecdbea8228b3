import { join } from "node:path";
import { type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Plain } from "../../../grpc/oracle.ts";
import { connectKserve } from "../../../helpers/kserve-grpc.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { KserveClient } from "../../../protocols/kserve/kserve-oracle.ts";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

const HOOKS = `
import collections

Status = collections.namedtuple("Status", "code details trailing_metadata")

def process(inputs, ctx):
    what = inputs["what"].item().decode()
    if what == "status":
        ctx.abort_with_status(Status((8, "resource exhausted"), "no more today", (("x-limit", "3"),)))
    if what == "cancel":
        assert ctx.is_active() and ctx.cancel() and not ctx.is_active()
    if what == "late":
        assert ctx.code() is None and ctx.details() == "" and ctx.trailing_metadata() == ()
        ctx.set_code("not_found")
        ctx.set_details(b"no such face")
        assert (ctx.code(), ctx.details()) == ("not_found", "no such face")
    ctx.set_trailing_metadata([("x-kind", "a")])
    assert ctx.trailing_metadata()[0].key == "x-kind" and ctx.auth_context() == {}
    remaining = ctx.time_remaining()
    return {"peer": ctx.peer(), "remaining": "none" if remaining is None else "some" if 0 < remaining <= 60 else "wrong"}
`;

function messageOf(what: string): Plain {
  const contents = { bytes_contents: [Buffer.from(what)] };
  return { model_name: "default", inputs: [{ name: "what", datatype: "BYTES", shape: [1], contents }] };
}

function inferOverGrpc(address: string, what: string) {
  return connectKserve(address)("ModelInfer", messageOf(what));
}

const ask = (what: string) => ({ what: ["BYTES", [1], [what]] }) as const;

describe.skipIf(python === undefined)("gRPC's context in Python hooks", () => {
  it("tells of the client's call, over HTTP and gRPC", async () => {
    const { server, ask: askPlain } = await servePythonHooks(HOOKS);
    const plain = await askPlain(ask("facts"));
    expect(plain.outputs).toEqual({ peer: [expect.stringMatching(/^ipv[46]:.+:\d+$/)], remaining: ["none"] });
    expect(plain.headers.get("x-kind")).toBe("a");
    const body = JSON.stringify({ inputs: [{ name: "what", datatype: "BYTES", shape: [1], data: ["facts"] }] });
    const headers = { "x-request-timeout-ms": "60000" };
    const limited = await fetch(`${server.httpUrl}/v2/models/default/infer`, { method: "POST", body, headers });
    expect(await limited.text()).toContain('"some"');
    const { raw_output_contents: raw, outputs } = await inferOverGrpc(server.grpcAddress, "facts");
    expect(JSON.stringify([String(raw), outputs])).toMatch(/ipv[46]:/);
  });

  it("tells of the client in each message of a stream", async () => {
    const { server } = await servePythonHooks(HOOKS);
    const client = new KserveClient(server.grpcAddress, credentials.createInsecure());
    onTestFinished(() => client.close());
    const stream = (client.ModelStreamInfer as () => ClientDuplexStream<Plain, Plain>)();
    for (const _ of [1, 2]) stream.write(messageOf("facts"));
    stream.end();
    const answers: string[] = [];
    for await (const { infer_response: answer } of stream) answers.push(String((answer as Plain).raw_output_contents));
    const told = expect.stringMatching(/ipv[46]:.*127\.0\.0\.1:\d+/);
    expect(answers).toEqual([told, told]);
  });

  it("ends the request by a status, at once or when the hook returns", async () => {
    const { server, ask: askPlain } = await servePythonHooks(HOOKS);
    expect(await askPlain(ask("status"))).toMatchObject({ status: 429, error: "no more today" });
    expect(await askPlain(ask("cancel"))).toMatchObject({ status: 499, error: "A hook cancelled the request." });
    expect(await askPlain(ask("late"))).toMatchObject({ status: 404, error: "no such face" });
    for (const [what, code] of [
      ["status", 8],
      ["cancel", 1],
      ["late", 5],
    ] as const)
      await expect(inferOverGrpc(server.grpcAddress, what)).rejects.toMatchObject({ code });
    expect(await askPlain(ask("facts"))).toMatchObject({ status: 200 });
  });
});

const DRIVER = `
  import { defineDriver } from "kserving";
  const describe = (value) =>
    Array.isArray(value) ? "[" + value.map(describe).join(",") + "]"
    : value?.shape !== undefined ? "tensor" + JSON.stringify([...value.shape])
    : typeof value === "object" && value !== null ? "{" + Object.entries(value).map(([k, v]) => k + ":" + describe(v)).join(",") + "}"
    : JSON.stringify(value);
  export default defineDriver({
    name: "told", options: {}, pathless: true,
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }] } },
      hookArgs: { model: { call: async (...args) => describe(args) }, session: { run: async (...args) => describe(args) } },
      predict: async (inputs) => inputs,
      close: async () => {},
    }),
  });`;

it.skipIf(python === undefined)("lists of arrays stay lists in the arguments of methods", async () => {
  const source = `
import numpy as np
def process(inputs, ctx, model, session, **kwargs):
    a, b = np.zeros((1, 2), np.float32), np.ones(3)
    return {
        "one": model.call("forward", [a]),
        "deep": model.call("forward", [a, [b, a], 2], (a,)),
        "texts": model.call("names", [b"a", b"b"], [np.float32(1), np.float32(2)], [1, 2]),
        "sequence": session.run({"xs": [a, b], "own": {"ys": [b]}}),
        "stacked": session.run({"x": [a[0], a[0]]}),
    }`;
  const folder = tempFolder({ "told.ts": DRIVER });
  const { ask: askPlain } = await servePythonHooks(source, { stages: [{ driver: join(folder, "told.ts") }] });
  const { outputs } = await askPlain({ x: ["FP32", [1, 2], [1, 2]] });
  expect(outputs).toEqual({
    one: ['["forward",[tensor[1,2]]]'],
    deep: ['["forward",[tensor[1,2],[tensor[3],tensor[1,2]],2],[tensor[1,2]]]'],
    texts: ['["names",tensor[2],tensor[2],[1,2]]'],
    sequence: ["[{xs:[tensor[1,2],tensor[3]],own:{ys:[tensor[3]]}}]"],
    stacked: ["[{x:tensor[2,2]}]"],
  });
});
