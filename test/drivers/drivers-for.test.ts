import { expect, test } from "vitest";
import { driversFor, driversToAsk } from "../../src/drivers/drivers-for.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test.each([
  ["model.onnx", ["onnx", "openvino"]],
  ["model.ort", ["onnx"]],
  ["model.xml", ["openvino"]],
  ["model.tflite", ["tensorflow", "openvino"]],
  ["model.keras", ["tensorflow"]],
  ["model.pt", ["pytorch"]],
  ["model.unknown", ["onnx", "openvino", "tensorflow"]],
  ["https://models.example/face.onnx", ["onnx", "openvino"]],
])("%s is for %s", async (path, drivers) => {
  expect(await driversFor(path)).toEqual(drivers);
});

test("a SavedModel is for TensorFlow and OpenVINO", async () => {
  expect(await driversFor(tempFolder({ "saved_model.pb": "" }))).toEqual(["tensorflow", "openvino"]);
});

test("where all are asked, those that recognise the name come first", async () => {
  expect(await driversToAsk("model.tflite")).toEqual(["tensorflow", "openvino", "onnx"]);
});
