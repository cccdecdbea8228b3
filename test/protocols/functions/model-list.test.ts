import { expect, test } from "vitest";
import { decodeModelList, encodeModelList } from "../../../src/protocols/functions/model-list.ts";
import { type ToldModel, ToldService } from "../../../src/protocols/functions/told-models.ts";
import type { Lease, ModelRef } from "../../../src/serving/inference-service.ts";
import { decodeMessage } from "../../../src/tensor/codecs/protobuf/proto-messages.ts";
import type { Signature } from "../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const SIGNATURE: Signature = {
  inputs: [
    { name: "x", dtype: "float32", shape: [-1, 3] },
    { name: "scale", dtype: "float32", shape: [], default: createTensor("float32", [], new Float32Array([2])) },
    { name: "__proto__", dtype: "bytes" },
  ],
  outputs: [],
};

function told(model: string, signatures: Readonly<Record<string, Signature>>): ToldModel {
  const hooks = { entries: ["chat", "own"], hookPlaces: [], description: "Says it." };
  const description = { model, version: 2n, drivers: ["onnx", "null"], signatures, hooks, decoupled: true };
  return { model, version: 2n, unavailableReason: "", description };
}

const GONE: ToldModel = { model: "b", version: 1n, unavailableReason: "it is loading", description: undefined };

test("what is read of a list is what was written, and what protobuf's own reader finds", async () => {
  const bytes = await encodeModelList([told("a", { other: {}, serving_default: SIGNATURE }), GONE]);
  const [a, b] = await decodeModelList(bytes);
  expect(b).toEqual(GONE);
  expect(a).toMatchObject({ model: "a", version: 2n, description: { drivers: ["onnx", "null"], decoupled: true } });
  expect(a?.description?.hooks).toMatchObject({ entries: ["chat"], description: "Says it." });
  const { signatures = {} } = a?.description ?? {};
  expect(Object.keys(signatures)).toEqual(["serving_default", "other"]);
  expect(signatures.other).toEqual({});
  const { inputs, outputs } = signatures.serving_default ?? {};
  expect(inputs?.map(({ default: value, ...spec }) => [spec, value !== undefined])).toEqual([
    [{ name: "x", dtype: "float32", shape: [-1, 3] }, false],
    [{ name: "scale", dtype: "float32", shape: [] }, true],
    [{ name: "__proto__", dtype: "bytes" }, false],
  ]);
  expect(outputs).toEqual([]);
  const scale = { name: "scale", dtype: "float32", shape: { sizes: [] }, optional: true };
  expect(decodeMessage("kserving.ListModelsResponse", bytes)).toMatchObject({
    models: [
      {
        ...{ name: "a", version: "2", unavailable_reason: "" },
        facts: { functions: ["chat"], signatures: [{ inputs: { tensors: [{ optional: false }, scale, {}] } }, {}] },
      },
      { name: "b", version: "1", unavailable_reason: "it is loading" },
    ],
  });
});

test("a tensor of an unknown type makes its list unknown", async () => {
  const later = { name: "x", dtype: "float4" as "float32" };
  const [read] = await decodeModelList(await encodeModelList([told("a", { one: { inputs: [later], outputs: [] } })]));
  expect(read?.description?.signatures).toEqual({ one: { outputs: [] } });
});

test("signatures are read once they are asked for; those that cannot be read are no fault of the client", async () => {
  const wide = { inputs: Array.from({ length: 70_000 }, () => ({ name: "", dtype: "bool" as const })) };
  const [narrow, tooWide] = await decodeModelList(await encodeModelList([told("a", {}), told("b", { wide })]));
  expect(narrow?.description?.signatures).toEqual({});
  expect(() => tooWide?.description?.signatures).toThrow(
    expect.objectContaining({ code: "internal", message: expect.stringContaining("more than 65536 fields") }),
  );
});

/** Models that keep the thread for longer than a turn in each step of reading their signatures. */
function slow(names: readonly string[], steps: number, take: () => void): ToldModel[] {
  return names.map((name) => ({
    ...told(name, {}),
    *readSignatures() {
      for (let step = 0; step < steps; step++) {
        const end = performance.now() + 11;
        while (performance.now() < end);
        take();
        yield;
      }
    },
  }));
}

test("signatures of models that are asked for at once are read in turns, as are those of one", async () => {
  const turns = new Set<number>();
  let [turn, isOver] = [0, false];
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const models = slow(["a", "b", "c"], 2, () => turns.add(turn));
  const lease = (ref: ModelRef) => ({ ...ref, release: () => {} }) as unknown as Lease;
  const { acquire } = new ToldService(models, false, lease);
  const leases = await Promise.all(models.map(({ model }) => acquire({ model })));
  isOver = true;
  expect(leases.map(({ description }) => description.model)).toEqual(["a", "b", "c"]);
  // The first step of a model may follow the last one of another.
  expect(turns.size).toBeGreaterThanOrEqual(4);
});

test("signatures are read tensor by tensor, the same as at once", async () => {
  const wide = { inputs: Array.from({ length: 500 }, (_, index) => ({ name: `x${index}`, dtype: "bool" as const })) };
  const bytes = await encodeModelList([told("a", { wide, narrow: SIGNATURE })]);
  const [[atOnce], [inSteps]] = [await decodeModelList(bytes), await decodeModelList(bytes)];
  expect([...(inSteps?.readSignatures?.() ?? [])].length).toBeGreaterThan(500);
  expect(inSteps?.description?.signatures).toEqual(atOnce?.description?.signatures);
  expect([...(inSteps?.readSignatures?.() ?? [])]).toEqual([]);
});

test("a list of more than a server can have is refused", async () => {
  const empty = Buffer.from("0a00".repeat(200_000), "hex");
  await expect(decodeModelList(empty)).rejects.toThrow("it has more than 131072 fields");
});
