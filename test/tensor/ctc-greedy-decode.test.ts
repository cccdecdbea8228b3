import { describe, expect, test } from "vitest";
import { ctcGreedyDecode } from "../../src/tensor/ctc-greedy-decode.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";

/** Scores whose best class at each time step is the one given, with 0.9. */
function stepsOf(best: readonly number[], classes = 4): number[] {
  return best.flatMap((winner) => Array.from({ length: classes }, (_, index) => (index === winner ? 0.9 : 0.1)));
}
const floats = (shape: number[], values: number[]): Tensor => createTensor("float64", shape, Float64Array.from(values));

describe("ctcGreedyDecode", () => {
  test("merges repeats, keeps letters that a blank parts, and says where each was read", () => {
    const [read] = ctcGreedyDecode(floats([8, 4], stepsOf([0, 1, 1, 0, 1, 2, 3, 3])));
    expect(read).toEqual({ classes: [1, 1, 2, 3], scores: [0.9, 0.9, 0.9, 0.9], steps: [1, 4, 5, 6] });
  });

  test("takes a batch, on whatever axis it lies", () => {
    const batchFirst = floats([2, 3, 4], [...stepsOf([1, 0, 2]), ...stepsOf([3, 3, 0])]);
    expect(ctcGreedyDecode(batchFirst).map(({ classes }) => classes)).toEqual([[1, 2], [3]]);
    const steps = [stepsOf([1, 0, 2]), stepsOf([3, 3, 0])];
    const timeFirst = [0, 1, 2].flatMap((time) => steps.flatMap((each) => each.slice(4 * time, 4 * time + 4)));
    expect(ctcGreedyDecode(floats([3, 2, 4], timeFirst), { timeAxis: 0 }).map(({ classes }) => classes)).toEqual([
      [1, 2],
      [3],
    ]);
  });

  test("takes classes before time, and the last class as blank", () => {
    const byClass = [0, 1].flatMap((index) => [0, 1, 0].map((winner) => (winner === index ? 0.9 : 0.1)));
    expect(ctcGreedyDecode(floats([2, 3], byClass), { classAxis: 0, timeAxis: 1, blank: -1 })[0]?.classes).toEqual([
      0, 0,
    ]);
  });

  test("takes a step without a number as blank, and no steps as no text", () => {
    const steps = stepsOf([1, 1, 1]).map((value, index) => (index >= 4 && index < 8 ? Number.NaN : value));
    expect(ctcGreedyDecode(floats([3, 4], steps))[0]?.classes).toEqual([1, 1]);
    expect(ctcGreedyDecode(floats([0, 4], []))).toEqual([{ classes: [], scores: [], steps: [] }]);
    expect(ctcGreedyDecode(floats([0, 3, 4], []))).toEqual([]);
  });

  test.each([
    [[4], {}, "it got shape [4]; expected [time, classes]"],
    [[], {}, "it got shape []"],
    [[2, 2], { timeAxis: 1 }, "timeAxis and classAxis are both 1"],
    [[2, 2], { timeAxis: 5 }, "ctcGreedyDecode got axis 5 of a tensor of shape [2,2]"],
    [[2, 2], { blank: 2 }, "blank is 2; expected one of 2 classes"],
    [[2, 0], {}, "blank is 0; expected one of 0 classes"],
  ])("refuses shape [%s] with %o", (shape, options, message) => {
    const tensor = floats(shape, new Array(shape.reduce((a, b) => a * b, 1)).fill(0));
    expect(() => ctcGreedyDecode(tensor, options)).toThrow(message);
  });
});
