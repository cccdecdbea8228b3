import { expect, test } from "vitest";
import { type ListPage, listPages } from "../../../src/storage/objects/find-files.ts";

const FILE = { key: "a", bytes: 1, etag: "e" };
const list = (ask: (next: string | undefined) => Promise<ListPage>, maxFiles = 10) =>
  listPages({ maxFiles, signal: new AbortController().signal }, ask);

test("a list has the files of all its parts, also of those without any", async () => {
  const pages: Record<string, ListPage> = { "": { files: [FILE], next: "1" }, 1: { files: [], next: "2" } };
  expect(await list(async (next = "") => pages[next] ?? { files: [FILE], next: undefined })).toEqual([FILE, FILE]);
});

test("a list that goes on with the same part, or with others without end, is refused", async () => {
  let asked = 0;
  const end = "the server's list does not come to its end";
  await expect(list(async () => ({ files: [], next: "1" }))).rejects.toThrow(end);
  await expect(list(async () => ({ files: [], next: String(asked++ % 2) }))).rejects.toThrow(end);
  await expect(list(async () => ({ files: [FILE], next: String(asked++) }))).rejects.toThrow("more than 10 files");
});
