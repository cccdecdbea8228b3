import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { openStorage } from "../open-storage.ts";
import { longName, makeTarball } from "../runtimes/make-tarball.ts";
import { setEnv } from "../set-env.ts";
import { ToyRegistry } from "./start-registry.ts";

const LAYER = "application/vnd.oci.image.layer.v1.tar";
const EMPTY = { mediaType: "application/vnd.oci.empty.v1+json" };
const IMAGE = { mediaType: "application/vnd.oci.image.config.v1+json" };
const titled = (title: string) => ({ "org.opencontainers.image.title": title });

async function openRegistry() {
  const registry = await ToyRegistry.start("models/face");
  setEnv({ DOCKER_CONFIG: "none", REGISTRY_AUTH_FILE: "" });
  return { registry, at: (reference: string) => `oci://${registry.host}/models/face${reference}`, ...openStorage() };
}

test("an artifact's layers are files with their titles", async () => {
  const { registry, at, fetch } = await openRegistry();
  const weights = randomBytes(5000);
  const layers = [
    registry.blob(LAYER, "<xml>", titled("1/face.xml")),
    registry.blob("application/x", weights, titled("1/face.bin")),
  ];
  registry.push("v1", { config: EMPTY, layers });
  const { path } = await fetch(at(":v1"));
  expect(readFileSync(join(path, "1/face.xml"), "utf8")).toBe("<xml>");
  expect(readFileSync(join(path, "1/face.bin")).equals(weights)).toBe(true);
  expect(readdirSync((await fetch(at(":v1/1"))).path).sort()).toEqual(["face.bin", "face.xml"]);
});

test("of an image, for this machine among several, the folder models is unpacked", async () => {
  const { registry, at, fetch } = await openRegistry();
  const system = makeTarball([{ name: "bin/sh", text: "", type: "2" }]);
  const models = makeTarball([{ name: "models/1/m.onnx", text: "model" }]);
  const layers = [system, models].map((tarball) => registry.blob(`${LAYER}+gzip`, tarball));
  const image = registry.push("own", { config: IMAGE, layers });
  const other = { ...registry.push("other", { config: IMAGE, layers: [] }), platform: { architecture: "unknown" } };
  registry.push("latest", { manifests: [other, { ...image, platform: { os: "linux", architecture: "s390x" } }] });
  expect(readFileSync(join((await fetch(at(""))).path, "m.onnx"), "utf8")).toBe("model");
});

describe("of the layers of an image", () => {
  /** The files in the folder models of an image with these layers, whose names are their contents. */
  async function filesOf(...layers: (readonly (string | { name: string; text: string; type?: string })[])[]) {
    const { registry, at, fetch } = await openRegistry();
    const tarballs = layers.map((layer, index) =>
      makeTarball(layer.map((entry) => (typeof entry === "string" ? { name: entry, text: String(index) } : entry))),
    );
    const blobs = tarballs.map((tarball) => registry.blob(`${LAYER}+gzip`, tarball));
    registry.push("v1", { config: IMAGE, layers: blobs });
    const { path } = await fetch(at(":v1"));
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.map((file) => {
      const full = join(file.parentPath, file.name);
      return `${relative(path, full)}=${readFileSync(full, "utf8")}`;
    });
  }

  test.each([
    ["a file removed", [["models/a", "models/b"], ["./models/.wh.b"]], ["a=0"]],
    ["a folder removed", [["models/1/a", "models/1/b/c", "models/2/a"], ["models/.wh.1"]], ["a=0"]],
    [
      "a folder emptied",
      [
        ["models/a", "models/b/c"],
        ["models/d", "models/.wh..wh..opq"],
      ],
      ["d=1"],
    ],
    ["everything emptied", [["models/a"], [".wh..wh..opq", "models/b"]], ["b=1"]],
    ["the models removed", [["models/a"], [".wh.models"], ["models/b"]], ["b=2"]],
    ["what is removed and comes back", [["models/a"], ["models/.wh.a"], ["models/a"]], ["a=2"]],
    ["a file beside its own whiteout", [["models/a"], ["models/a", "models/.wh.a"]], ["a=1"]],
    ["a file replaced", [["models/a", "models/b"], ["models/a"]], ["a=1", "b=0"]],
    ["a folder in place of a file", [["models/a", "models/b"], ["models/a/c"]], ["a/c=1", "b=0"]],
    ["a file in place of a folder", [["models/a/c", "models/b"], ["models/a"]], ["a=1", "b=0"]],
    ["a link removed", [["models/b", { name: "models/a", text: "", type: "2" }], ["models/.wh.a"]], ["b=0"]],
    ["whiteouts elsewhere", [["models/a"], ["usr/.wh.x:y", "usr/.wh..wh..opq", ".wh.model"]], ["a=0"]],
  ])("%s is as the last of them has it", async (_, layers, expected) => {
    expect((await filesOf(...layers)).sort()).toEqual(expected);
  });

  test("a name that is longer than a file's is refused at once", async () => {
    const long = longName(`models/${"a/".repeat(100_000)}b`);
    await expect(filesOf([long, "models/b"], ["models/a"])).rejects.toThrow(/a name in a layer has more than 4096/);
  });

  test("none is left where all are removed", async () => {
    await expect(filesOf(["models/a"], [".wh.models"])).rejects.toThrow(/there is no file in it/);
  });
});

test("an archive of an artifact is unpacked, and its folder stands for its content", async () => {
  const { registry, at, fetch } = await openRegistry();
  const tarball = makeTarball([{ name: "face/m.onnx", text: "model" }]);
  const annotations = { "org.cncf.model.filepath": "face" };
  const layer = registry.blob("application/vnd.cncf.model.weight.v1.tar+gzip", tarball, annotations);
  const { digest } = registry.push("v1", {
    config: { mediaType: "application/vnd.cncf.model.config.v1+json" },
    layers: [layer],
  });
  expect(readdirSync((await fetch(at(`:v1@${digest}`))).path)).toEqual(["m.onnx"]);
});

test("a tag that stands for the same is asked for by HEAD alone, and for another one is read", async () => {
  const { registry, at, fetch, storage } = await openRegistry();
  registry.push("v1", { config: EMPTY, layers: [registry.blob("a", "one", titled("m.onnx"))] });
  await storage.stampOf(at(":v1"));
  registry.requests.length = 0;
  storage.expire();
  const before = await storage.stampOf(at(":v1"));
  expect(registry.requests).toEqual(["HEAD /v2/models/face/manifests/v1"]);
  registry.push("v1", { config: EMPTY, layers: [registry.blob("a", "two", titled("m.onnx"))] });
  storage.expire();
  expect(await storage.stampOf(at(":v1"))).not.toEqual(before);
  expect(readFileSync((await fetch(at(":v1/m.onnx"))).path, "utf8")).toBe("two");
});

describe("a login", () => {
  test.each([
    ["Basic", { auth: btoa("ann:s3cret") }],
    ["Bearer", { username: "ann", password: "s3cret" }],
  ] as const)("of docker login is used for %s, and stands in no message", async (kind, login) => {
    const { registry, at, fetch, events } = await openRegistry();
    registry.login = { kind, user: "ann:s3cret" };
    registry.push("v1", { config: EMPTY, layers: [registry.blob("a", "one", titled("m.onnx"))] });
    const folder = tempFolder();
    const other = { "https://index.docker.io/v1/": { auth: btoa("other:one") } };
    writeFileSync(join(folder, "config.json"), JSON.stringify({ auths: { ...other, [registry.host]: login } }));
    setEnv({ DOCKER_CONFIG: folder });
    expect(readFileSync((await fetch(at(":v1/m.onnx"))).path, "utf8")).toBe("one");
    expect(JSON.stringify(events)).not.toMatch(/s3cret|t0ken/);
  });

  test.each([
    [
      "that is missing",
      {},
      /answers 401 \(authentication required\)\. Log in \(docker login, podman login or oras login\)/,
    ],
    [
      "of another password",
      { auths: { HOST: { auth: btoa("ann:falsch") } } },
      /answers 401 \(incorrect username or password\)\. Check the login/,
    ],
    [
      "that a program keeps",
      { credsStore: "desktop", auths: { HOST: {} } },
      /is kept by a program of Docker's, which is not run here/,
    ],
    ["in a file that is not JSON", "s3cret", /the file with the logins of registries is not JSON/],
  ])("%s is an error that says what to do", async (_, config, message) => {
    const { registry, at, storage } = await openRegistry();
    registry.login = { kind: "Bearer", user: "ann:s3cret" };
    const file = join(tempFolder(), "auth.json");
    const text = typeof config === "string" ? config : JSON.stringify(config).replace("HOST", registry.host);
    writeFileSync(file, text);
    setEnv({ REGISTRY_AUTH_FILE: file });
    // Without a login there is still a token to be had.
    if (text === "{}") registry.login = { kind: "Basic", user: "ann:s3cret" };
    const error = storage.indexOf(at(":v1"));
    await expect(error).rejects.toThrow(message);
    await expect(error).rejects.not.toThrow(/s3cret|falsch/);
  });
});

test("the parameters of a challenge cost no time, however long they are", async () => {
  const { registry, at, storage } = await openRegistry();
  registry.login = { kind: "Bearer", user: "ann:s3cret" };
  registry.challenge = `${"a".repeat(14_000)},`;
  const before = process.cpuUsage();
  for (let tag = 0; tag < 20; tag++) await expect(storage.indexOf(at(`:v${tag}`))).rejects.toThrow(/answers 401/);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1.5);
});

describe("content that differs from its digest is not used", () => {
  test.each([
    ["a manifest", "manifest", /the manifest differs from its digest/],
    ["a layer", "layer", /m\.onnx differs from its checksum \(sha256\)/],
  ])("%s", async (_, which, message) => {
    const { registry, at, fetch } = await openRegistry();
    const layer = registry.blob("a", "good", titled("m.onnx"));
    const manifest = registry.push("v1", { config: EMPTY, layers: [layer] });
    const wanted = which === "layer" ? layer.digest : manifest.digest;
    registry.tamper = (digest, body) => (digest === wanted ? Buffer.from(body.toString().replace(/[gv]/, "e")) : body);
    await expect(fetch(at(":v1"))).rejects.toThrow(message);
  });
});

test("a checksum in the address is that of a file, and refused for all files", async () => {
  const { registry, at, fetch } = await openRegistry();
  const layer = registry.blob("a", "one", titled("m.onnx"));
  registry.push("v1", { config: EMPTY, layers: [layer] });
  const checksum = `#sha256=${layer.digest.slice("sha256:".length)}`;
  expect(readFileSync((await fetch(at(`:v1/m.onnx${checksum}`))).path, "utf8")).toBe("one");
  await expect(fetch(at(`:v1${checksum}`))).rejects.toThrow(/; the digest of all is named by oci:.*@sha256:HEX\.$/);
});

describe("an error says what to do", () => {
  test.each([
    ["no such tag", ":v9", /answers 404 \(manifest unknown: v9\)\. Check the address/],
    ["zstd", ":zstd", /a layer is packed with zstd, which is not unpacked here; push it with gzip/],
    ["no files", ":none", /no layer has files in it; expected an artifact with titles, archives, or an image/],
    ["twice the same", ":twice", /two of its layers are called "m"/],
    ["a name that leads out", ":out", /the name "\.\.\/out" cannot be a file's/],
    ["an image without models", ":empty", /there is no file in it/],
  ])("%s", async (_, reference, message) => {
    const { registry, at, fetch } = await openRegistry();
    const file = registry.blob("a", "one", titled("m"));
    registry.push("zstd", { config: IMAGE, layers: [registry.blob(`${LAYER}+zstd`, "")] });
    registry.push("none", { config: EMPTY, layers: [registry.blob("application/x", "")] });
    registry.push("twice", { config: EMPTY, layers: [file, file] });
    registry.push("out", { config: EMPTY, layers: [registry.blob("a", "", titled("../out"))] });
    registry.push("empty", {
      config: IMAGE,
      layers: [registry.blob(`${LAYER}+gzip`, makeTarball([{ name: "etc/a", text: "" }]))],
    });
    await expect(fetch(at(reference))).rejects.toThrow(message);
  });
});

test.each([
  "null",
  "[]",
  "1",
  '{"layers": "abc"}',
  '{"layers": [null]}',
  '{"layers": {}}',
  '{"layers": [{"digest": 5}]}',
  '{"manifests": [null]}',
  '{"manifests": 1}',
  '{"layers": [{"annotations": {"org.opencontainers.image.title": 1}}]}',
])("an answer of another form than a manifest's is refused in words: %s", async (manifest) => {
  const { registry, at, fetch } = await openRegistry();
  registry.tags.set("v1", registry.blob("application/x", manifest).digest);
  await expect(fetch(at(":v1"))).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:unavailable|failed_precondition)$/),
    message: expect.not.stringMatching(/undefined|null|not a function|iterable/),
  });
});
