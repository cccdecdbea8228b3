import { expect, test } from "vitest";
import type { DownloadState } from "../../src/storage/download-file.ts";
import { openStorage } from "./open-storage.ts";
import { useS3 } from "./set-env.ts";
import { startS3 } from "./start-s3.ts";

/** A bucket with one file, and the reports about its downloads. */
async function openFile(bucket: string) {
  const s3 = await startS3(bucket, { "m.bin": Buffer.alloc(300_000) });
  useS3(s3.endpoint);
  const states: DownloadState[] = [];
  const { fetch } = openStorage({ onDownload: (state) => states.push(state) });
  return { s3, states, fetch: () => fetch(`s3://${bucket}/m.bin`) };
}

test("a download is reported with its bytes from its beginning to its end, a model of the cache not at all", async () => {
  const { states, fetch } = await openFile("reported");
  const facts = { address: "s3://reported/m.bin", totalBytes: 300_000 };
  await fetch();
  expect(states.at(0)).toEqual({ ...facts, doneBytes: 0, isOver: false });
  expect(states.at(-1)).toEqual({ ...facts, doneBytes: 300_000, isOver: true });
  const count = states.length;
  await fetch();
  expect(states).toHaveLength(count);
});

test("a download that fails is over too", async () => {
  const { s3, states, fetch } = await openFile("refused");
  s3.fault = (request, response) => {
    if (request.url?.includes("list-type")) return false;
    response.writeHead(403).end();
    return true;
  };
  await expect(fetch()).rejects.toThrow();
  expect(states.map(({ isOver }) => isOver)).toEqual([false, true]);
});
