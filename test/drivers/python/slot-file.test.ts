import { fstatSync, readdirSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { SlotFile } from "../../../src/drivers/python/slot-file.ts";

async function create(): Promise<SlotFile> {
  const file = await SlotFile.create();
  onTestFinished(() => file.close());
  return file;
}

test.each([1, 1000, 3 << 20])("%d bytes are read as they were written, wherever they lie", async (size) => {
  const file = await create();
  const bytes = Buffer.alloc(size, 7);
  expect(await file.write(bytes, 128)).toBe(true);
  const read = new Uint8Array(size);
  await file.read(read, 128);
  expect(Buffer.compare(read, bytes)).toBe(0);
});

test("reading more than there is fails, and writing to a closed file says so", async () => {
  const file = await SlotFile.create();
  await file.write(Buffer.from("ab"), 0);
  await expect(file.read(new Uint8Array(3), 0)).rejects.toThrow("wrote less than it said");
  await file.close();
  expect(await file.write(Buffer.from("ab"), 0)).toBe(false);
});

test("a file has no name, and gives back much memory when it is idle", async () => {
  const file = await create();
  expect(readdirSync("/dev/shm").filter((name) => name.startsWith(`kserving-${process.pid}-`))).toEqual([]);
  await file.write(Buffer.alloc(1000), 70 << 20);
  expect(fstatSync(file.fd).size).toBe((70 << 20) + 1000);
  await file.trim();
  expect(fstatSync(file.fd).size).toBe(0);
});

test("threads create files in the same millisecond, each with a copy of the module", async () => {
  vi.useFakeTimers({ now: 0, toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const files: Promise<SlotFile>[] = [];
  for (let thread = 0; thread < 8; thread++) {
    vi.resetModules();
    const copy = await import("../../../src/drivers/python/slot-file.ts");
    files.push(copy.SlotFile.create());
  }
  const created = await Promise.all(files);
  expect(new Set(created.map(({ fd }) => fd)).size).toBe(8);
  await Promise.all(created.map((file) => file.close()));
});
