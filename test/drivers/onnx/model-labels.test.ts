import { expect, it } from "vitest";
import { modelLabels } from "../../../src/drivers/onnx/onnx.ts";

it.each<[Record<string, string>, readonly string[] | undefined]>([
  [{ names: "{0: 'person', 1: 'bicycle'}" }, ["person", "bicycle"]],
  [{ names: `{0: "child's toy", 1: 'a \\'b\\'', 2: 'c: 3, d'}` }, ["child's toy", "a 'b'", "c: 3, d"]],
  [{ names: "{1: 'person', 2: 'bicycle'}" }, undefined],
  [{ names: "['person', 'bicycle']" }, ["person", "bicycle"]],
  [{ names: "person" }, undefined],
  [{ labels: "cat, dog" }, ["cat", "dog"]],
  [{ description: "x" }, undefined],
])("the classes that %j notes are %j", (metadata, labels) => {
  expect(modelLabels(metadata)).toEqual(labels);
});
