import { symlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { downloadFile } from "../../src/storage/download-file.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Ten bytes at a time: the file's buffer is never full, so that none of its own events is waited for. */
async function* slowly(): AsyncGenerator<Buffer> {
  for (let part = 0; part < 5; part++) {
    yield Buffer.alloc(10);
    await wait(10);
  }
}

test.skipIf(process.platform !== "linux")("a disk that is full fails a download, and nothing else", async () => {
  const [target, part] = [`${tempFolder()}/model.onnx`, `${tempFolder()}/part`];
  // The device of which each write says that there is no space left.
  await symlink("/dev/full", part);
  const place = { open: async () => ({ stream: Readable.from(slowly()), offset: 0, bytes: 50 }) };
  const file = { key: "model.onnx", bytes: 50 };
  const download = { place, file, target, part, maxBytes: 0, signal: new AbortController().signal, onBytes: () => {} };
  await expect(downloadFile(download as never)).rejects.toMatchObject({ code: "ENOSPC" });
});
