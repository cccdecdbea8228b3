import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStorage } from "../open-storage.ts";
import { setEnv } from "../set-env.ts";
import { ToyGs } from "./start-gs.ts";

let buckets = 0;

async function openBucket(objects: Readonly<Record<string, string | Buffer>>) {
  const bucket = `toy-gs-${buckets++}`;
  const gs = await ToyGs.start(bucket, objects);
  return { gs, at: (key: string) => `gs://${bucket}/${key}`, ...openStorage() };
}

test("a public bucket's folder is downloaded with its names, in a list of several parts", async () => {
  const { gs, at, fetch } = await openBucket({
    "m/1/a.onnx": "one",
    "m/1/deep er/ü+&?.bin": "two",
    "m/1/": "",
    "m10/x": "",
  });
  gs.pageSize = 2;
  const { path } = await fetch(at("m/1"));
  expect(readdirSync(path).sort()).toEqual(["a.onnx", "deep er"]);
  expect(readFileSync(join(path, "deep er/ü+&?.bin"), "utf8")).toBe("two");
  expect(gs.requests.filter((request) => request.includes("/o?"))).toHaveLength(2);
});

test("an emulator is asked without credentials, whatever there are", async () => {
  const { at, fetch } = await openBucket({ "m.onnx": "one" });
  const { CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: url = "" } = process.env;
  setEnv({ STORAGE_EMULATOR_HOST: new URL(url).host, GOOGLE_APPLICATION_CREDENTIALS: "none.json" });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a cut download goes on where it was cut, of the same generation", async () => {
  const content = randomBytes(300_000);
  const { gs, at, fetch } = await openBucket({ "m.bin": content });
  gs.fault = (_, response) => {
    gs.fault = undefined;
    response.writeHead(200, { "content-length": content.length });
    response.write(content.subarray(0, 100_000), () => response.destroy());
    return true;
  };
  expect(readFileSync((await fetch(at("m.bin"))).path).equals(content)).toBe(true);
  expect(gs.requests.at(-1)).toMatch(/m\.bin\?alt=media&ifGenerationMatch=1 bytes=[1-9]\d*-$/);
});

test.each([
  ["MD5", false, /differs from its checksum \(md5\)/],
  ["CRC-32C", true, /differs from its checksum \(crc32c\)/],
])("an object with another content than its %s is not used", async (_, isComposed, message) => {
  const { gs, at, fetch } = await openBucket({ "m.bin": "good" });
  gs.isComposed = isComposed;
  gs.fault = (_, response) => {
    response.end("evil");
    return true;
  };
  await expect(fetch(at("m.bin"))).rejects.toThrow(message);
  gs.fault = undefined;
  expect(readFileSync((await fetch(at("m.bin"))).path, "utf8")).toBe("good");
});

test("an object that has changed since it was listed is listed again", async () => {
  const { gs, at, fetch, storage } = await openBucket({ "m/a.bin": "old" });
  await storage.indexOf(at("m"));
  gs.put("m/a.bin", "new");
  await expect(fetch(at("m"))).rejects.toThrow(/answers 412 .*has changed meanwhile; the next attempt reads it/);
  expect(readFileSync(join((await fetch(at("m"))).path, "a.bin"), "utf8")).toBe("new");
});

test("a file of a bucket that may not be listed is read", async () => {
  const { gs, at, fetch } = await openBucket({ "m.onnx": "one" });
  gs.isUnlisted = true;
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a bucket that is not for everybody is an error that says what to do", async () => {
  const { gs, at, fetch } = await openBucket({ "m.onnx": "one" });
  gs.token = "other";
  await expect(fetch(at("m.onnx"))).rejects.toThrow(
    /cannot be read: the server answers 403 \(The toy does not have .*\)\. Set GOOGLE_APPLICATION_CREDENTIALS to the key file/,
  );
});

test.each([
  ["gs://toy-gs-other/m", /the server answers 404 \(The specified bucket does not exist\.\)\. Check the address\.$/],
  ["gs:///m", /gs:\/\/\/m has no bucket's name; expected gs:\/\/BUCKET\/PATH/],
])("%s is an error that says what to do", async (address, message) => {
  const { storage } = await openBucket({});
  await expect((async () => storage.indexOf(address))()).rejects.toThrow(message);
});

test("an empty bucket has nothing", async () => {
  const { storage, at } = await openBucket({});
  await expect(storage.indexOf(at("m"))).rejects.toThrow(/m cannot be read: nothing is there; expected a model's file/);
});
