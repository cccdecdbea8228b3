import { describe, it } from "vitest";
import { missingRuntime } from "../../missing-runtime.ts";
import { expectEqualToPython } from "../equality.ts";
import { TENSORFLOW_MODELS } from "../tensorflow-cases.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("The tensorflow driver's native engine", tensorflowRuntime);

describe.skipIf(missing !== undefined)("the native engine gives what Python TensorFlow gives", () => {
  it.each(TENSORFLOW_MODELS)("for %s", (name) => expectEqualToPython(name, "native"));
});
