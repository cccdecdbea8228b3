import { expect, it } from "vitest";
import { parseOptions } from "../../../../src/drivers/option-table.ts";
import tensorflow from "../../../../src/drivers/tensorflow/tensorflow.ts";
import { createRecordingLogger } from "../../../examples/recording-logger.ts";
import { predict } from "../../predict.ts";
import { formatCase, formatModel } from "../format-models.ts";

it("a model logs once which kernels run in JavaScript", async () => {
  const { log, events } = createRecordingLogger();
  const path = formatModel("js_attention/model.json");
  const model = await tensorflow.load(path, parseOptions(tensorflow.options, {}), { log, threads: 1 });
  const { inputs } = formatCase("js_attention/model.json");
  await predict(model, inputs);
  await predict(model, inputs);
  expect(events.filter(([message]) => message.startsWith("kernels"))).toEqual([
    [
      "kernels that WebAssembly lacks run in JavaScript, which is slower",
      { kernels: expect.arrayContaining(["Einsum"]) },
    ],
  ]);
  await model.close();
});
