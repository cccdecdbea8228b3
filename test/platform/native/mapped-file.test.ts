import { closeSync, ftruncateSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import type { MappedFile } from "../../../src/platform/native/mapped-file.ts";

const BYTES = 64 * 1024;

const contentOf = (file: MappedFile, place: number, bytes: number) => [
  ...new Uint8Array(file.read(place, new ArrayBuffer(bytes))),
];

/** A memory file as its writer and its reader have it. */
async function open() {
  const { createMemoryFile } = await import("../../../src/platform/native/mapped-file.ts");
  const { MappedFile } = await import("../../../src/platform/native/mapped-file.ts");
  const fd = createMemoryFile("test", BYTES);
  const [writer, reader] = [new MappedFile(fd, BYTES, "write"), new MappedFile(fd, BYTES, "read")];
  onTestFinished(() => {
    writer.close();
    reader.close();
    closeSync(fd);
  });
  return { fd, writer, reader };
}

describe.runIf(process.platform === "linux")("a mapped memory file", () => {
  test("gives what was written last at a place, as a copy", async () => {
    const { writer, reader } = await open();
    writer.write(0, Uint8Array.of(1, 2, 3));
    const first = contentOf(reader, 0, 3);
    writer.write(0, Uint8Array.of(4, 5));
    expect(first).toEqual([1, 2, 3]);
    expect(contentOf(reader, 0, 4)).toEqual([4, 5, 3, 0]);
    writer.write(BYTES - 2, Uint8Array.of(8, 9));
    expect(contentOf(reader, BYTES - 3, 3)).toEqual([0, 8, 9]);
  });

  test("has a size that cannot be changed: a reader of what was cut off would crash", async () => {
    const { fd, reader } = await open();
    expect(() => ftruncateSync(fd, 0)).toThrow("EPERM");
    expect(() => ftruncateSync(fd, 2 * BYTES)).toThrow("EPERM");
    expect(contentOf(reader, 0, BYTES).length).toBe(BYTES);
  });

  test("is not touched behind its end, nor once it is closed", async () => {
    const { writer, reader } = await open();
    expect(() => writer.write(BYTES - 1, new Uint8Array(2))).toThrow("has 65536 bytes; 65537 are needed");
    expect(() => contentOf(reader, BYTES, 1)).toThrow("has 65536 bytes; 65537 are needed");
    reader.close();
    expect(reader.isClosed).toBe(true);
    expect(() => contentOf(reader, 0, 1)).toThrow("is closed");
  });

  test("is refused where the system does not map", async () => {
    const { MappedFile } = await import("../../../src/platform/native/mapped-file.ts");
    expect(() => new MappedFile(-1, BYTES, "read")).toThrow("The system refuses to map a file (mmap).");
  });
});
