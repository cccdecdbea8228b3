import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { LayerConfig } from "../../../../src/drivers/tensorflow/keras/keras-file.ts";
import { LAYER_RULES } from "../../../../src/drivers/tensorflow/keras/layer-rules.ts";
import { toLayersConfig } from "../../../../src/drivers/tensorflow/keras/to-layers-config.ts";

describe("what Keras and tfjs-layers compute differently is an obstacle:", () => {
  it.each<[string, string, object, string]>([
    ["a layer that is not known", "TextVectorization", {}, 'layer "l" is a TextVectorization'],
    ["a layer of its author's own", "MyLayer", {}, 'layer "l" is a MyLayer'],
    [
      "a grouped convolution of channels first",
      "Conv2D",
      { groups: 2, data_format: "channels_first" },
      'layer "l" (Conv2D) has groups=2 with channels_first',
    ],
    ["attention along several axes", "MultiHeadAttention", { attention_axes: [1, 2] }, "has attention_axes=[1,2]"],
    ["a dilated depthwise convolution", "DepthwiseConv2D", { dilation_rate: [2, 2] }, "has dilation_rate=[2,2]"],
    ["an output padding", "Conv2DTranspose", { output_padding: [1, 1] }, "has output_padding=[1,1]"],
    ["bilinear upsampling", "UpSampling2D", { interpolation: "bilinear" }, 'has interpolation="bilinear"'],
    ["a ReLU with a slope", "ReLU", { negative_slope: 0.1 }, "has negative_slope=0.1"],
    ["an ELU of another alpha", "ELU", { alpha: 0.5 }, "has alpha=0.5"],
    ["a concatenation counted from the end", "Concatenate", { axis: -2 }, "has axis=-2"],
    [
      "pooling of channels first in one dimension",
      "MaxPooling1D",
      { data_format: "channels_first" },
      "has data_format=",
    ],
    ["a recurrent layer that remembers", "LSTM", { stateful: true }, "has stateful=true"],
    ["weights merged at run time", "Dense", { lora_rank: 4 }, "has lora_rank=4"],
    ["an unknown option", "Dense", { novelty: 1 }, 'layer "l" (Dense) has novelty=1'],
    ["an activation that tfjs-layers lacks", "Dense", { activation: "sparsemax" }, "has the activation sparsemax"],
    ["an activation of its author's own", "Dense", { activation: { class_name: "Mine" } }, "has the activation {"],
    ["half precision", "Dense", { dtype: { config: { name: "float16" } } }, "computes in float16"],
    ["an input of doubles", "InputLayer", { dtype: "float64" }, 'layer "l" (InputLayer) takes float64'],
  ])("%s", (_what, class_name, options, obstacle) => {
    const { obstacles } = sequential({ class_name, config: { name: "l", ...options } });
    expect(obstacles).toEqual([expect.stringContaining(obstacle)]);
  });

  it("two different layers forwards and backwards", () => {
    const layer = { class_name: "LSTM", config: { name: "f", units: 2, activation: "tanh", go_backwards: false } };
    const backward = (activation: string) => ({
      ...layer,
      config: { ...layer.config, name: "b", activation, go_backwards: true },
    });
    const both = (backward_layer: LayerConfig) => ({
      class_name: "Bidirectional",
      config: { name: "l", layer, backward_layer },
    });
    expect(sequential(both(backward("tanh"))).obstacles).toEqual([]);
    const obstacle = 'layer "l" runs two different layers forwards and backwards';
    expect(sequential(both(backward("relu"))).obstacles).toEqual([obstacle]);
  });

  it("an operator of keras.ops that is called as a layer is", () => {
    const add = { class_name: "Add", module: "keras.src.ops.numpy", config: { name: "l" } };
    expect(sequential(add).obstacles).toEqual(['layer "l" is a Add of keras.src.ops.numpy']);
    const args = [tensorOf("x"), 2];
    expect(functional({ args }).obstacles).toEqual(['layer "l" is called with 2 arguments']);
  });

  it("a call with a mask or an option", () => {
    const args = [tensorOf("x")];
    expect(functional({ args, kwargs: { mask: null, training: false } }).obstacles).toEqual([]);
    expect(functional({ args, kwargs: { mask: tensorOf("m") } }).obstacles).toEqual(['layer "l" is called with mask']);
    expect(functional([["x", 0, 0, { training: true }]]).obstacles).toEqual(['layer "l" is called with training']);
  });

  it("a model's class of its author's own", () => {
    const root = { class_name: "MyModel", config: { name: "m" } };
    expect(toLayersConfig({ root, major: 3 }).obstacles).toEqual(["the model's class MyModel is its author's own"]);
  });
});

describe("toLayersConfig", () => {
  it("takes the hard sigmoid of Keras 2, which is that of tfjs-layers", () => {
    const root = model("Sequential", [{ class_name: "Dense", config: { name: "l", activation: "hard_sigmoid" } }]);
    expect(toLayersConfig({ root, major: 2 }).obstacles).toEqual([]);
  });

  it("makes nothing of layers that do something only while a model learns", () => {
    const { config } = sequential({ class_name: "Dropout", config: { name: "l", rate: 0.5, seed: 3 } });
    expect(config.config.layers).toEqual([{ class_name: "Activation", config: { name: "l", activation: "linear" } }]);
  });

  it("counts the calls of a model within a model as tfjs-layers does, by the version of Keras", () => {
    const inner = model("Sequential", [{ class_name: "Dense", config: { name: "d" } }]);
    const layers = [{ ...inner, inbound_nodes: [] }];
    const root = {
      class_name: "Functional",
      config: { name: "m", layers, input_layers: [], output_layers: ["inner", 0, 0] },
    };
    const outputs = (major: number) => toLayersConfig({ root, major }).config.config.output_layers;
    expect(outputs(3)).toEqual([["inner", 1, 0]]);
    expect(outputs(2)).toEqual([["inner", 0, 0]]);
  });
});

function sequential(layer: LayerConfig) {
  return toLayersConfig({ root: model("Sequential", [layer]), major: 3 });
}

function functional(call: unknown) {
  const layer = { class_name: "Add", name: "l", config: { name: "l" }, inbound_nodes: [call] };
  return toLayersConfig({ root: model("Functional", [layer]), major: 3 });
}

function model(class_name: string, layers: readonly LayerConfig[]): LayerConfig {
  return { class_name, config: { name: "inner", layers } };
}

function tensorOf(layer: string) {
  return { class_name: "__keras_tensor__", config: { keras_history: [layer, 0, 0] } };
}

describe("docs/drivers/tensorflow.md", () => {
  const page = readFileSync("docs/drivers/tensorflow.md", "utf8");

  it.each(Object.keys(LAYER_RULES))("names the layer %s", (name) => {
    expect(page).toContain(`\`${name}\``);
  });
});
