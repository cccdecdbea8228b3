import { expect, it } from "vitest";
import { modelConfig } from "../../../src/serving/repository/config/model-config.ts";
import {
  COMMAND_LINE,
  mergePlaces,
  mergeSources,
  refuseByNeeds,
} from "../../../src/serving/repository/merge-sources.ts";

const model = (name: string, path: string, options: Record<string, string> = {}, driver?: string) => ({
  ...modelConfig({ name, path, options }),
  ...(driver !== undefined && { driver }),
});

it("takes the first description of each name, and says which places describe it again", () => {
  const { models, conflicts } = mergeSources(
    [
      { title: COMMAND_LINE, models: [model("a", "one.onnx"), model("a", "other.onnx")] },
      { title: "models.yaml", models: [model("b", "b.onnx"), model("a", "third.onnx")] },
    ],
    {},
  );
  expect(models.map(({ name, path }) => `${name} ${path}`)).toEqual(["a one.onnx", "b b.onnx"]);
  expect(conflicts).toEqual([
    'The model "a" is described by the command line twice, for one.onnx and other.onnx (--model NAME=PATH gives another name); expected each name once.',
    'The model "a" is described by the command line and by models.yaml; expected each name once.',
  ]);
});

it("takes a description in place of others, wherever it stands, without a conflict", () => {
  const [a, b, given, other] = [
    { name: "a", at: 1 },
    { name: "b", at: 1 },
    { name: "a", at: 2 },
    { name: "c", at: 2 },
  ];
  const places = [
    { title: "the program", models: [a] },
    { title: "a folder", models: [b, { name: "a", at: 3 }] },
    { title: "a client", models: [given, other], overrides: true },
  ];
  expect(mergePlaces(places)).toEqual({ models: [b, given, other], conflicts: [] });
  const { models, conflicts } = mergePlaces(places.slice(0, 2));
  expect(models).toEqual([a, b]);
  expect(conflicts).toEqual(['The model "a" is described by the program and by a folder; expected each name once.']);
});

it("gives each model its own options before those of all, and those before a file's batching for TensorFlow", () => {
  const { models, batching } = mergeSources(
    [
      {
        title: "one.config",
        models: [model("a", "a", { x: "own" }, "tensorflow")],
        batching: { x: "b", y: "b", z: "b" },
      },
      { title: "other.config", models: [model("b", "b", {}, "onnx")], batching: { z: "c" } },
    ],
    { x: "all", y: "all" },
  );
  expect(models.map(({ options }) => options)).toEqual([
    { x: "own", y: "all", z: "c" },
    { x: "all", y: "all" },
  ]);
  expect(batching).toEqual({ x: "b", y: "b", z: "c" });
});

it("refuses a model whose stages name one that is not described, unless it is refused for another reason", () => {
  const chain = { ...modelConfig({ name: "chain", path: "" }), stages: [{ model: "gone", options: {} }] };
  const refused = { ...chain, name: "other", refusal: "it is broken" };
  expect(refuseByNeeds([chain, refused]).map(({ refusal }) => refusal)).toEqual([
    expect.stringContaining('the model "gone", which is not described'),
    "it is broken",
  ]);
});
