import { closeSync, readSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import {
  bindFunctions,
  defineStruct,
  NativeObject,
  openLibrary,
  pointerTo,
  processLibrary,
  runAsync,
} from "../../../src/platform/native/bind-functions.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

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

test.each([
  ["that is none", { "libtoy.so": "no library" }],
  ["that is empty", { "libtoy.so": "" }],
  ["that is not there", {}],
])("refuses a library %s, by its path and with the system's reason", (_what, files) => {
  const path = `${tempFolder(files as Record<string, string>)}/libtoy.so`;
  expect(() => openLibrary(path)).toThrow(
    expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringMatching(/^The library ".*libtoy\.so" cannot be loaded on \w+ \w+: .+\.$/),
    }),
  );
});

test("frees its pointer once, however often it is released", () => {
  const freed: bigint[] = [];
  const object = new NativeObject(5n, (pointer) => freed.push(pointer));
  expect(freed).toEqual([]);
  object.release();
  object.release();
  expect(freed).toEqual([5n]);
});

test("frees a pointer that was forgotten with the garbage", async () => {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const freed = new Promise((resolve) => forget(resolve));
  const collecting = setInterval(collectGarbage, 5);
  expect(await freed.finally(() => clearInterval(collecting))).toBe(7n);
});

function forget(onFree: (pointer: bigint) => void): void {
  new NativeObject(7n, onFree);
}
