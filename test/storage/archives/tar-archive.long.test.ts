import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readTarball, type TarOptions } from "../../../src/storage/archives/tar-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeTar } from "../runtimes/make-tarball.ts";

/** Reads an archive of nothing but so many folders. */
async function readFolders(count: number, options: TarOptions = {}): Promise<void> {
  const [header] = [makeTar([{ name: "a/", text: "", type: "5" }]).subarray(0, 512)];
  const bytes = Buffer.concat([Buffer.alloc(512 * count, header), Buffer.alloc(1024)]);
  const path = join(tempFolder({ "a.tgz": gzipSync(bytes) }), "a.tgz");
  for await (const { name } of readTarball(path, options)) throw new Error(name);
}

test("an archive of more headers than any layer has is refused, however little room it takes", async () => {
  await readFolders(200_000);
  await expect(readFolders(500_000)).rejects.toThrow("it has more than 500000 headers");
});

test("what is passed over is not read on once the signal aborts", async () => {
  const reading = readFolders(400_000, { signal: AbortSignal.timeout(50) });
  await expect(reading).rejects.toMatchObject({ name: "TimeoutError" });
});
