import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withH5 } from "../../../../src/drivers/tensorflow/keras/h5-file.ts";
import { formatModel } from "../format-models.ts";

const good = readFileSync(formatModel("gru/model.h5"));
/** Its list of free places leads back to itself: the library follows it for ever, and notes each place. */
const endless = withEndlessList(good);
const CODE = "failed_precondition";
const read = (bytes: Buffer, label: string, limitMs?: number) =>
  withH5(new Uint8Array(bytes), label, (file) => file.names("/"), limitMs);
const threads = () => readdirSync("/proc/self/task").length;

describe("an HDF5 file", () => {
  it("that is not read in its time is refused, and others meanwhile are read", async () => {
    const message = expect.stringMatching(/^The file "endless\.h5" is damaged: .* within 0\.3 s/);
    const refused = expect(read(endless, "endless.h5", 300)).rejects.toMatchObject({ code: CODE, message });
    expect(await read(good, "good.h5")).toEqual(["model_weights"]);
    await refused;
  });

  it("gets no more memory than its size explains", async () => {
    const message = 'The file "endless.h5" is damaged or cut short: its HDF5 content cannot be read.';
    await expect(read(endless, "endless.h5")).rejects.toMatchObject({ code: CODE, message });
  });

  it.runIf(process.platform === "linux")("leaves no thread", async () => {
    await read(good, "good.h5");
    const before = threads();
    await read(good, "good.h5");
    await read(endless, "endless.h5", 300).catch(() => {});
    expect(threads()).toBe(before);
  });

  it.each([0, 8, 500])("of which only %d bytes are left is refused by its name", async (bytes) => {
    const message = expect.stringContaining('"cut.h5" is damaged or cut short');
    await expect(read(good.subarray(0, bytes), "cut.h5")).rejects.toMatchObject({ code: CODE, message });
  });
});

function withEndlessList(original: Buffer): Buffer {
  const bytes = Buffer.from(original);
  const heap = bytes.indexOf("HEAP");
  const [firstFree, data] = [8n, Number(bytes.readBigUInt64LE(heap + 24))];
  bytes.writeBigUInt64LE(firstFree, heap + 16);
  bytes.writeBigUInt64LE(firstFree, data + Number(firstFree));
  bytes.writeBigUInt64LE(16n, data + Number(firstFree) + 8);
  return bytes;
}
