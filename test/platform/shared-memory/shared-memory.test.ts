import { readFileSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SharedMemory } from "../../../src/platform/shared-memory/shared-memory.ts";
import { hasSharedMemory, sharedObject } from "../../helpers/shared-object.ts";

const BYTES = Buffer.from("0123456789abcdef");
const r = { name: "r", offset: 0n, byteSize: 16n };

/** A region `r` of a new object. */
function region(part: { readonly offset: bigint; readonly byteSize: bigint } = r) {
  const { key, file } = sharedObject(BYTES);
  const memory = new SharedMemory();
  memory.register({ name: "r", key, ...part });
  return { memory, key, file };
}

describe.runIf(hasSharedMemory)("shared memory of clients", () => {
  it("gives a stretch of a region, and takes one", async () => {
    const { memory, file } = region({ offset: 4n, byteSize: 8n });
    const held = memory.hold({ region: "r", offset: 2n, byteSize: 3n });
    const target = Buffer.alloc(3);
    await held.read(target);
    expect(target.toString()).toBe("678");
    await held.write(Buffer.from("XY"));
    expect(readFileSync(file, "utf8")).toBe("012345XY89abcdef");
  });

  it.each([
    ["", 0n, 17n, "failed to register shared memory region 'r': invalid args"],
    ["", 1n, 16n, "failed to register shared memory region 'r': invalid args"],
    ["", 17n, 0n, "failed to register shared memory region 'r': invalid args"],
    ["", 0n, 0n, "failed to register shared memory region 'r': invalid args"],
    ["", 2n ** 64n - 8n, 16n, "failed to register shared memory region 'r': invalid args"],
    ["/", 0n, 1n, "cannot register shared memory region 'r' - invalid shm key '/'"],
    ["///", 0n, 1n, "cannot register shared memory region 'r' - invalid shm key '///'"],
    ["/..", 0n, 1n, "invalid shm key '/..'"],
    ["/../etc/passwd", 0n, 1n, "invalid shm key '/../etc/passwd'"],
    ["/a/../../etc/passwd", 0n, 1n, "invalid shm key"],
    ["/a\0b", 0n, 1n, "invalid shm key"],
    [`/${"a".repeat(256)}`, 0n, 1n, "invalid shm key"],
    ["//triton_python_backend_shm_region_1", 0n, 1n, "as the key contains the reserved prefix"],
  ])("refuses the key %j with offset %s and size %s", (other, offset, byteSize, message) => {
    const { key } = sharedObject(BYTES);
    const register = () => new SharedMemory().register({ name: "r", key: other || key, offset, byteSize });
    expect(register).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    expect(register).toThrow(message);
  });

  it("refuses an object that there is not, and a name that is taken", () => {
    const { memory, key } = region();
    const absent = () => memory.register({ ...r, name: "s", key: "/kserving-test-absent" });
    expect(absent).toThrow("Unable to open shared memory region: '/kserving-test-absent': the server's machine has no");
    expect(absent).toThrow(expect.objectContaining({ code: "not_found" }));
    const again = () => memory.register({ ...r, key });
    expect(again).toThrow(expect.objectContaining({ code: "already_exists" }));
    expect(again).toThrow("shared memory region 'r' already in manager");
    expect(memory.all()).toHaveLength(1);
  });

  it("takes 1024 regions at most", () => {
    const { memory, key } = region();
    for (let count = 1; count < 1024; count++) memory.register({ ...r, name: `r${count}`, key });
    expect(() => memory.register({ ...r, name: "more", key })).toThrow("There are 1024 regions already");
    memory.unregisterAll();
    expect(memory.all()).toEqual([]);
  });

  it.each([
    ["s", 0n, 1n, "Unable to find shared memory region: 's'"],
    ["r", 16n, 0n, "Invalid offset for shared memory region: 'r'"],
    ["r", 2n ** 64n - 32n, 64n, "Invalid offset for shared memory region: 'r'"],
    ["r", 1n, 16n, "Invalid offset + byte size for shared memory region: 'r'"],
    ["r", 2n, 2n ** 64n - 1n, "Integer overflow detected: byte_size (18446744073709551615) + offset (2)"],
  ])("refuses a stretch of %s from %s on, %s bytes long", (name, offset, byteSize, message) => {
    expect(() => region().memory.hold({ region: name, offset, byteSize })).toThrow(message);
  });

  it("keeps a region that is unregistered until its last use, though its object has lost its name", async () => {
    const { memory, file } = region();
    const uses = [0, 1].map(() => memory.hold({ region: "r", offset: 0n, byteSize: 1n }));
    memory.unregister("r");
    rmSync(file);
    uses[0]?.release();
    expect(memory.find("r")).toMatchObject({ byteSize: 16 });
    const target = Buffer.alloc(1);
    await uses[1]?.read(target);
    expect(target.toString()).toBe("0");
    uses[1]?.release();
    expect(memory.find("r")).toBeUndefined();
  });
});

it("shared memory is refused on systems whose objects are no files", () => {
  expect(() => new SharedMemory("darwin")).toThrow("(--allow-client-shm) needs Linux, and this is darwin");
});
