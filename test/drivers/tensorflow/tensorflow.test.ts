import { describeDriver } from "../driver-contract.ts";
import { tensorflowRuntime } from "./native/tensorflow-runtime.ts";
import { readCases, tensorflowModel } from "./tensorflow-cases.ts";

const [first, second] = readCases("control_flow").map(({ inputs, outputs }) => ({ inputs, expected: outputs }));

await describeDriver({
  name: "tensorflow",
  runtime: tensorflowRuntime,
  modelPath: tensorflowModel("control_flow"),
  options: { engine: "native" },
  samples: [first as NonNullable<typeof first>, second as NonNullable<typeof second>],
  tolerance: 1e-6,
});
