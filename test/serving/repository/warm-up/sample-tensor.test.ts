import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sampleTensor } from "../../../../src/serving/repository/warm-up/request-files.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const INPUT = { name: "x", dtype: "float32", shape: [2, 3], rows: 2, values: "zero" } as const;

function fileOf(content: Uint8Array): { readonly path: string } {
  const path = join(tempFolder(), "values");
  writeFileSync(path, content);
  return { path };
}

it("makes zeros, and random numbers from 0 to 1", async () => {
  expect(await sampleTensor(INPUT)).toEqual({ dtype: "float32", shape: [2, 3], data: new Float32Array(6) });
  for (const dtype of ["float32", "int64", "float16", "bool"] as const) {
    const { data } = await sampleTensor({ ...INPUT, dtype, shape: [500], values: "random" });
    const numbers = Array.from(data as ArrayLike<number | bigint>, Number);
    expect(new Set(numbers).size).toBeGreaterThan(1);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(dtype === "float16" ? 0x3c00 : 1);
  }
  expect(await sampleTensor({ ...INPUT, dtype: "bytes", shape: [1], values: "random" })).toMatchObject({
    data: [new Uint8Array(0)],
  });
});

it("repeats random numbers where there are many", async () => {
  const { data } = await sampleTensor({ ...INPUT, dtype: "float64", shape: [200_001], values: "random" });
  expect((data as Float64Array).every((value) => value > 0 && value < 1)).toBe(true);
});

it("repeats the values of a file for each row", async () => {
  const numbers = fileOf(new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
  expect(await sampleTensor({ ...INPUT, values: numbers })).toMatchObject({ data: Float32Array.of(1, 2, 3, 1, 2, 3) });
  const texts = fileOf(Buffer.from("\x02\0\0\0ab\x01\0\0\0c"));
  const { data } = await sampleTensor({ ...INPUT, dtype: "bytes", shape: [2, 2], values: texts });
  expect((data as readonly Uint8Array[]).map(String)).toEqual(["97,98", "99", "97,98", "99"]);
});

it("refuses what its file or its size does not give", async () => {
  const refused = [
    [{ ...INPUT, values: fileOf(Buffer.alloc(8)) }, "needs 12 bytes, but its file has 8"],
    [{ ...INPUT, dtype: "bytes", values: fileOf(Buffer.from("\x09\0\0\0a")) }, "but its file has 0"],
    [{ ...INPUT, values: { path: "/nowhere" } }, "does not exist; expected a file."],
    [{ ...INPUT, values: { path: tempFolder() } }, "is a folder; expected a file."],
    [{ ...INPUT, shape: [2 ** 40] }, "more than"],
    [{ ...INPUT, dtype: "bytes", shape: [2 ** 28] }, "takes 17179869184 bytes, more than"],
    [{ ...INPUT, dtype: "bytes", shape: [2 ** 30, 0], rows: 2 ** 30, values: fileOf(Buffer.alloc(0)) }, "more than"],
  ] as const;
  for (const [input, message] of refused) await expect(sampleTensor(input)).rejects.toThrow(message);
});
