import { describe, expect, it } from "vitest";
import { parseDevice } from "../../../src/drivers/openvino/properties.ts";

const AVAILABLE = ["CPU", "GPU.0", "GPU.1"];

describe("-o device=", () => {
  it.each([
    ["CPU", { name: "CPU", bases: ["CPU"] }],
    ["gpu", { name: "GPU", bases: ["GPU"] }],
    ["GPU.1", { name: "GPU.1", bases: ["GPU.1"] }],
    ["GPU, CPU", { name: "HETERO:GPU,CPU", spread: "HETERO", bases: ["GPU", "CPU"] }],
    ["HETERO:GPU.1,CPU", { name: "HETERO:GPU.1,CPU", spread: "HETERO", bases: ["GPU.1", "CPU"] }],
    ["AUTO", { name: "AUTO", spread: "AUTO", bases: AVAILABLE }],
    ["AUTO:-GPU.1,CPU", { name: "AUTO:-GPU.1,CPU", spread: "AUTO", bases: ["CPU"] }],
    ["MULTI:GPU(2),CPU(1)", { name: "MULTI:GPU(2),CPU(1)", spread: "MULTI", bases: ["GPU", "CPU"] }],
    ["BATCH:GPU(16)", { name: "BATCH:GPU(16)", spread: "BATCH", bases: ["GPU"] }],
  ])("takes %s", (text, choice) => {
    expect(parseDevice(text, AVAILABLE)).toEqual(choice);
  });

  it.each([
    [
      "GPU.7",
      "failed_precondition",
      "The device GPU.7 is not there; this machine has CPU, GPU.0, GPU.1; choose with -o device=NAME.",
    ],
    [
      "MULTI:NPU,CPU",
      "failed_precondition",
      "The device NPU is not there; this machine has CPU, GPU.0, GPU.1; choose with -o device=NAME.",
    ],
    [
      "HDDL",
      "failed_precondition",
      "The device HDDL is gone from OpenVINO since 2022.1; this machine has CPU, GPU.0, GPU.1; choose with -o device=NAME.",
    ],
    ["", "invalid_argument", 'Option "device" is ""; expected a device (CPU, GPU.0, GPU.1), or several as'],
  ])("refuses %j", (text, code, message) => {
    expect(() => parseDevice(text, AVAILABLE)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });

  it("says so when there is none at all", () => {
    expect(() => parseDevice("CPU", [])).toThrow(/no device: its plugins are gone or broken/);
  });
});
