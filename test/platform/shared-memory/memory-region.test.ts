import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, symlinkSync, truncateSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryRegion } from "../../../src/platform/shared-memory/memory-region.ts";
import { hasSharedMemory, sharedObject, unusedObject } from "../../helpers/shared-object.ts";

const SIZE = 3_000_000;

function open(key: string, byteSize: number): MemoryRegion {
  return new MemoryRegion({ name: "r", key, offset: 0n, byteSize: BigInt(byteSize) });
}

describe.runIf(hasSharedMemory)("a region of shared memory", () => {
  it("reads and writes some megabytes", async () => {
    const bytes = Buffer.alloc(SIZE).map((_, index) => index % 251);
    const { key, file } = sharedObject(bytes);
    const region = open(key, SIZE);
    const target = Buffer.alloc(SIZE - 1);
    await region.read(1, target);
    expect(target.equals(bytes.subarray(1))).toBe(true);
    await region.write(1, target.fill(7));
    expect(readFileSync(file).equals(Buffer.concat([bytes.subarray(0, 1), target]))).toBe(true);
    region.close();
  });

  it("says that its object has become shorter, and leaves it so", async () => {
    const { key, file } = sharedObject(Buffer.alloc(8192));
    const region = open(key, 8192);
    truncateSync(file, 100);
    const refusal = { code: "failed_precondition", message: expect.stringContaining("has become shorter") };
    await expect(region.read(0, Buffer.alloc(101))).rejects.toMatchObject(refusal);
    await expect(region.write(0, Buffer.alloc(101))).rejects.toMatchObject(refusal);
    expect(statSync(file).size).toBe(100);
    await region.write(0, Buffer.alloc(100));
    region.close();
  });

  it.each<[string, (file: string) => void]>([
    ["a folder", (file) => mkdirSync(file)],
    ["a link", (file) => symlinkSync(sharedObject(Buffer.alloc(8)).file, file)],
    ["a pipe, for which it does not wait", (file) => execFileSync("mkfifo", [file])],
  ])("refuses %s", (_, make) => {
    const { key, file } = unusedObject();
    make(file);
    expect(() => open(key, 8)).toThrow(`Unable to open shared memory region: '${key}'`);
    expect(() => open(key, 8)).toThrow("is not a shared memory object");
  });

  it.each(["/", "/.", "/..", "/a/b"])("refuses the key %s, which is no object's name", (key) => {
    expect(() => open(key, 8)).toThrow(`invalid shm key '${key}'`);
  });
});
