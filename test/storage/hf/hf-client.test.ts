import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { openStorage } from "../open-storage.ts";
import { setEnv } from "../set-env.ts";
import { ToyHf } from "./start-hf.ts";

let repositories = 0;

async function openRepository(files: Readonly<Record<string, string | Buffer>>) {
  const name = `toy-owner/model.${repositories++}`;
  const hf = await ToyHf.start(name, files);
  return { hf, name, at: (path: string) => `hf://${name}/${path}`, ...openStorage() };
}

test("a repository is downloaded with its names, in a list of several parts", async () => {
  const large = randomBytes(1000);
  const { hf, name, fetch } = await openRepository({
    "config.json": "{}",
    "onnx/ü &?.onnx": large,
    ".gitattributes": "",
  });
  hf.pageSize = 2;
  const { path } = await fetch(`hf://${name}`);
  expect(readdirSync(path).sort()).toEqual([".gitattributes", "config.json", "onnx"]);
  expect(readFileSync(join(path, "onnx/ü &?.onnx")).equals(large)).toBe(true);
  expect(hf.requests.filter((request) => request.includes("/tree/"))).toHaveLength(2);
});

test("a file comes with those whose names begin alike, of one commit", async () => {
  const { hf, at, fetch } = await openRepository({
    "onnx/m.onnx": "m",
    "onnx/m.onnx_data": "d",
    "onnx/n.onnx": "n",
    m: "",
  });
  const { path } = await fetch(at("onnx/m.onnx"));
  expect(readFileSync(path, "utf8")).toBe("m");
  expect(readdirSync(join(path, "..")).sort()).toEqual(["m.onnx", "m.onnx_data"]);
  expect(hf.requests.filter((request) => request.includes("/resolve/")).sort()).toEqual([
    expect.stringContaining(`/resolve/${"1".repeat(40)}/onnx/m.onnx`),
    expect.stringContaining(`/resolve/${"1".repeat(40)}/onnx/m.onnx_data`),
  ]);
});

test.each(["@refs%2Fpr%2F1", ":main"])("the revision %s is read", async (revision) => {
  const { name, fetch } = await openRepository({ "m.onnx": "m" });
  expect(readFileSync((await fetch(`hf://${name}${revision}/m.onnx`)).path, "utf8")).toBe("m");
});

test("a repository whose commit is the same is not listed again, and a new commit with the same files changes nothing", async () => {
  const { hf, at, storage } = await openRepository({ "m/a.onnx": "one" });
  const before = await storage.stampOf(at("m"));
  storage.expire();
  await storage.stampOf(at("m"));
  expect(hf.requests.filter((request) => request.includes("/tree/"))).toHaveLength(1);
  hf.commit = "5".repeat(40);
  storage.expire();
  expect(await storage.stampOf(at("m"))).toEqual(before);
  hf.files.set("m/a.onnx", Buffer.from("two"));
  hf.commit = "6".repeat(40);
  storage.expire();
  expect((await storage.stampOf(at("m"))).text).not.toBe(before.text);
});

test("the token goes to the hub alone, and stands in no message", async () => {
  const { hf, at, fetch, events } = await openRepository({ "m.onnx": randomBytes(1000) });
  hf.token = "hf_s3cret";
  setEnv({ HF_TOKEN: "hf_s3cret" });
  await fetch(at("m.onnx"));
  expect(hf.elsewhere.map(({ authorization }) => authorization)).toEqual([undefined]);
  expect(JSON.stringify(events)).not.toMatch(/s3cret|s1g/);
});

test("the token of a login is found", async () => {
  const { hf, at, fetch } = await openRepository({ "m.onnx": "m" });
  hf.token = "hf_login";
  const folder = tempFolder();
  writeFileSync(join(folder, "token"), "hf_login\n");
  setEnv({ HF_TOKEN_PATH: "", HF_HOME: folder });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("m");
});

test("a cut download of a large file goes on where it was cut", async () => {
  const content = randomBytes(300_000);
  const { hf, at, fetch } = await openRepository({ "m.onnx": content });
  hf.fault = (_, response) => {
    hf.fault = undefined;
    response.writeHead(200, { "content-length": content.length });
    response.write(content.subarray(0, 100_000), () => response.destroy());
    return true;
  };
  expect(readFileSync((await fetch(at("m.onnx"))).path).equals(content)).toBe(true);
  expect(hf.elsewhere.at(-1)?.range).toMatch(/^bytes=[1-9]\d*-$/);
});

test.each([
  ["large", 1000, /differs from its checksum \(sha256\)/],
  ["small", 10, /differs from its checksum \(git\)/],
])("a %s file with another content than listed is not used", async (_, size, message) => {
  const { hf, at, fetch, storage } = await openRepository({ "m.onnx": randomBytes(size) });
  await storage.indexOf(at("m.onnx"));
  hf.files.set("m.onnx", randomBytes(size));
  await expect(fetch(at("m.onnx"))).rejects.toThrow(message);
});

test.each([
  [
    "hf://other/model",
    /answers 401 \(Invalid username or password\.\)\. Check the repository's name; if it is private, set HF_TOKEN/,
  ],
  ["hf://toy-owner", /hf:\/\/toy-owner is not a repository of models; expected hf:\/\/OWNER\/NAME, hf:/],
  ["hf://datasets/owner/name", /is not a repository of models/],
  ["hf://o/n@50%/m", /the name "50%" has a "%" that encodes nothing; expected %25/],
])("%s is an error that says what to do", async (address, message) => {
  const { storage } = await openRepository({});
  await expect((async () => storage.indexOf(address))()).rejects.toThrow(message);
});

test("a revision and a file that are not there are errors that name them", async () => {
  const { name, at, storage } = await openRepository({ "m.onnx": "m" });
  await expect(storage.indexOf(`hf://${name}@v9`)).rejects.toThrow(
    /answers 404 \(Invalid rev id: v9\)\. Check the address/,
  );
  await expect(storage.indexOf(at("folder/x.onnx"))).rejects.toThrow(/nothing is there; expected a model's file/);
});

test("a checksum in the address of a repository is refused", async () => {
  const { name, fetch } = await openRepository({ "m.onnx": "m" });
  await expect(fetch(`hf://${name}#sha256=${"0".repeat(64)}`)).rejects.toThrow(/named by hf:\/\/OWNER\/NAME@COMMIT/);
});

test("links to other pages cost no time, however long they are", async () => {
  const names = Array.from({ length: 20 }, (_, index) => [`${index}.bin`, ""]);
  const { hf, name, storage } = await openRepository(Object.fromEntries(names));
  hf.pageSize = 1;
  hf.links = `${"<".repeat(14_000)}>; rel="prev", `;
  const before = process.cpuUsage();
  expect(readdirSync(await storage.indexOf(`hf://${name}`))).toHaveLength(20);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1.5);
});
