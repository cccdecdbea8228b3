import { closeSync, readSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bindFunctions, defineStruct, pointerTo, runAsync } from "../../src/native/bind-functions.ts";
import { processLibrary } from "../../src/native/process-library.ts";

describe("C functions", () => {
  it("are called by their signatures", () => {
    const { strlen, abs } = bindFunctions(
      processLibrary(),
      { strlen: ["size_t", "str"], abs: ["int", "int"] },
      "The C library",
    );
    expect(strlen("größe")).toBe(7);
    expect(abs(-3)).toBe(3);
  });

  it("run in another thread, on the memory of an array that is theirs until then", async () => {
    const table = { memset: ["void *", "void *", "int", "size_t"] } as const;
    const { memset } = bindFunctions(processLibrary(), table, "The C library");
    const bytes = new Uint8Array(3);
    await runAsync(memset, bytes, 7, 3);
    expect(bytes).toEqual(Uint8Array.of(7, 7, 7));
  });

  it("take further arguments, each with its C type", () => {
    const table = { snprintf: ["int", "void *", "size_t", "str", "..."] } as const;
    const { snprintf } = bindFunctions(processLibrary(), table, "The C library");
    const text = Buffer.alloc(10);
    expect(snprintf(text, text.length, "%d-%s", "int", 7, "str", "x")).toBe(3);
    expect(text.toString("utf8", 0, 3)).toBe("7-x");
  });

  it.runIf(process.platform === "linux")("take lists of structs", () => {
    const vector = defineStruct<{ start: Uint8Array; bytes: number }>({ start: "void *", bytes: "size_t" });
    const table = { pipe: ["int", "void *"], writev: ["size_t", "int", pointerTo(vector), "int"] } as const;
    const { pipe, writev } = bindFunctions(processLibrary(), table, "The C library");
    const ends = new Int32Array(2);
    pipe(ends);
    const [reading, writing] = ends as unknown as [number, number];
    const parts = [Buffer.from("one "), Buffer.from("two")].map((start) => ({ start, bytes: start.length }));
    expect(writev(writing, parts, parts.length)).toBe(7);
    const read = Buffer.alloc(10);
    expect(read.toString("utf8", 0, readSync(reading, read))).toBe("one two");
    for (const end of ends) closeSync(end);
  });

  it("are named when a library lacks them", () => {
    const table = { abs: ["int", "int"], no_such_function: ["void"], nor_this: ["void"] } as const;
    expect(() => bindFunctions(processLibrary(), table, "The toy library")).toThrow(
      expect.objectContaining({
        code: "failed_precondition",
        message:
          "The toy library lacks functions that are needed: no_such_function, nor_this. Expected another version or build of it.",
      }),
    );
  });
});
