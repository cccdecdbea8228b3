import { expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { hasOperatorCases, operatorCases } from "./operator-data.ts";
import { operatorServer, wireOutcomes } from "./wire-outcomes.ts";

/** One for each type of number, of booleans, texts, NaN, and of tensors without dimensions and without elements. */
const SAMPLE =
  /^test_(mod_(uint|mixed_sign_int|mixed_sign_float)\d+|and2d|cast_STRING_to_FLOAT|isnan|range_int32_type_negative_delta|reshape_allowzero_reordered)$/;

it.skipIf(!hasOperatorCases())("carries values of every type over every wire that has a form for them", async () => {
  const cases = operatorCases().filter(({ name }) => SAMPLE.test(name));
  const { failures, passed } = await wireOutcomes(await startServer(operatorServer(cases)), cases);
  expect(failures).toEqual([]);
  expect(passed).toEqual({
    "V2 gRPC": 16,
    "V2 HTTP with binary values": 16,
    "V2 HTTP with JSON": 14,
    "TensorFlow Serving gRPC": 16,
    "TensorFlow Serving REST": 15,
    Kibernetika: 13,
  });
});
