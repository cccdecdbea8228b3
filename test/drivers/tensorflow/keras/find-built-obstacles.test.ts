import { input, layers, model, sequential } from "@tensorflow/tfjs-layers";
import { beforeAll, describe, expect, it } from "vitest";
import { findBuiltObstacles } from "../../../../src/drivers/tensorflow/keras/keras-engine.ts";
import { startTfjs } from "../../../../src/drivers/tensorflow/tfjs/tfjs-backend.ts";

type Layer = Parameters<ReturnType<typeof sequential>["add"]>[0];

beforeAll(() => startTfjs());

describe("findBuiltObstacles", () => {
  it.each<[string, () => Layer[]]>([
    ["a recurrent layer", () => [layers.simpleRNN({ units: 2, ...QUICK })]],
    [
      "a recurrent layer behind layers that pass it",
      () => [layers.dense({ units: 2 }), layers.gru({ units: 2, ...QUICK })],
    ],
    ["a layer that ends it", () => [layers.flatten()]],
  ])("lets a mask come to %s", (_what, make) => {
    expect(obstaclesBehindMask(...make())).toEqual([]);
  });

  it.each<[string, () => Layer[], string]>([
    [
      "pooling, which would have to leave out",
      () => [layers.globalAveragePooling1d({ name: "l" })],
      'layer "l" (GlobalAveragePooling1D) gets a mask',
    ],
    [
      "a layer in two directions that gives a sequence",
      () => [
        layers.bidirectional({
          layer: layers.simpleRNN({ units: 2, returnSequences: true, ...QUICK }) as never,
          name: "l",
        }),
      ],
      'layer "l" (Bidirectional) gets a mask',
    ],
  ])("finds a mask that comes to %s", (_what, make, obstacle) => {
    expect(obstaclesBehindMask(...make())).toEqual([obstacle]);
  });

  it("finds a mask that comes to where tensors are put together", () => {
    const x = input({ shape: [4] });
    const embedded = layers.embedding({ inputDim: 5, outputDim: 2, maskZero: true }).apply(x) as typeof x;
    const sum = layers.add({ name: "l" }).apply([embedded, embedded]) as typeof x;
    expect(findBuiltObstacles(model({ inputs: x, outputs: sum }))).toEqual(['layer "l" (Add) gets a mask']);
  });

  it("finds a mask that leaves a model within the model", () => {
    const inner = sequential({ layers: [masking()], name: "inner" });
    const x = input({ shape: [4, 3] });
    const last = layers.simpleRNN({ units: 2, ...QUICK }).apply(inner.apply(x)) as typeof x;
    expect(findBuiltObstacles(model({ inputs: x, outputs: last }))).toEqual([
      'model "inner" within the model gives a mask',
    ]);
  });

  it.each([
    [1, [3, 4], ['layer "l" (BatchNormalization) has axis=1 of 3 dimensions']],
    [2, [3, 4], []],
    [-1, [2, 3, 4, 5], ['layer "l" (BatchNormalization) takes 5 dimensions']],
  ])("oracles a batch normalization along axis %d of shape [n,%s]", (axis, inputShape, obstacles) => {
    const normalization = layers.batchNormalization({ axis, inputShape, name: "l" });
    expect(findBuiltObstacles(sequential({ layers: [normalization] }))).toEqual(obstacles);
  });
});

/** Options without the default initializer, which takes long, and needs a part of TensorFlow.js that is not there. */
const QUICK = { recurrentInitializer: "zeros" } as const;

function masking(): Layer {
  return layers.masking({ maskValue: 0, inputShape: [4, 3] });
}

function obstaclesBehindMask(...behind: Layer[]) {
  return findBuiltObstacles(sequential({ layers: [masking(), ...behind] }));
}
