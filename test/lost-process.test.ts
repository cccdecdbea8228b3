import { expect, test } from "vitest";
import { LOST_MODEL_THREAD, loseGivenUp, onLostLater } from "../src/lost-process.ts";

test("all who wait for the loss of one request that was given up are told, once, and of nothing else", () => {
  const [signal, other, told] = [{}, {}, [] as string[]];
  onLostLater(signal, () => told.push("a stage"));
  onLostLater(signal, () => told.push("its pipeline"));
  onLostLater(other, () => told.push("another request"));
  loseGivenUp(signal, undefined);
  expect(told).toEqual([]);
  loseGivenUp(signal, [LOST_MODEL_THREAD]);
  loseGivenUp(signal, [LOST_MODEL_THREAD]);
  expect(told).toEqual(["a stage", "its pipeline"]);
});
