import { readFileSync, symlinkSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type InstallOnnxOptions, installOnnx } from "../../../src/storage/runtimes/install-onnx.ts";
import { onnx } from "../../../src/storage/runtimes/native-runtimes.ts";
import { findOnnx } from "../../../src/storage/runtimes/onnx.ts";
import { probeRuntime } from "../../../src/storage/runtimes/probe.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeTarball } from "./make-tarball.ts";
import { startNpmRegistry } from "./start-npm-registry.ts";
import { recordingReporter } from "./toy-runtime.ts";

const LIBRARY = `bin/napi-v6/${process.platform}/${process.arch}/onnxruntime_binding.node`;
const VERSION = "1.99.0";

function toyArchive(name: string, version: string, files: Readonly<Record<string, string>> = {}): Buffer {
  const scripts = { postinstall: "node -e 'require(`fs`).writeFileSync(`ran`, ``)'" };
  const all = { "package.json": JSON.stringify({ name, version, main: "dist/index.js", scripts }), ...files };
  return makeTarball(Object.entries(all).map(([path, text]) => ({ name: `package/${path}`, text })));
}

const toyArchives = (version: string, library = LIBRARY) => ({
  "onnxruntime-node": toyArchive("onnxruntime-node", version, {
    "dist/index.js": "",
    [library]: "no library",
    "bin/napi-v6/beos/x64/onnxruntime_binding.node": "of another system",
    "script/install.js": "",
    "../../escaped.node": "",
  }),
  "onnxruntime-common": toyArchive("onnxruntime-common", version, { "dist/cjs/index.js": "" }),
});

/** npm asks this registry, without a memory of other tests. */
function useRegistry(url: string): void {
  vi.stubEnv("npm_config_registry", url);
  vi.stubEnv("npm_config_cache", tempFolder());
  vi.stubEnv("npm_config_fetch_retries", "0");
}

afterEach(() => void vi.unstubAllEnvs());

function install(root: string, options: Partial<InstallOnnxOptions> = {}) {
  const { signal } = new AbortController();
  return installOnnx({ root, force: false, signal, reporter: recordingReporter(), ...options });
}

/** npm takes its time to start. */
describe("installing ONNX Runtime", { timeout: 60_000 }, () => {
  test("keeps the files for this platform of what npm's registry has, runs no script, and is found by the driver", async () => {
    useRegistry(await startNpmRegistry(VERSION, toyArchives(VERSION)));
    const root = tempFolder();
    const { runtime, isNew } = await install(root, { version: VERSION });
    expect([runtime.version, isNew]).toEqual([VERSION, true]);
    const files = await readdir(runtime.home, { recursive: true, withFileTypes: true });
    const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    const expected = [
      "node_modules/onnxruntime-common/dist/cjs/index.js",
      "node_modules/onnxruntime-common/package.json",
      `node_modules/onnxruntime-node/${LIBRARY}`,
      "node_modules/onnxruntime-node/dist/index.js",
      "node_modules/onnxruntime-node/package.json",
      "runtime.json",
    ];
    expect(names.sort()).toEqual(expected.map((name) => join(runtime.home, name)));
    expect((await install(root, { version: VERSION })).isNew).toBe(false);
    vi.stubEnv("KSERVING_RUNTIMES_DIR", root);
    const path = join(runtime.home, "node_modules/onnxruntime-node");
    expect(findOnnx()).toContainEqual({ path, source: "the runtimes folder" });
  });

  test("refuses another archive under the tested version, and one that the registry announced otherwise; leaves nothing", async () => {
    const root = tempFolder();
    useRegistry(await startNpmRegistry(onnx.testedVersion, toyArchives(onnx.testedVersion)));
    await expect(install(root)).rejects.toMatchObject({
      code: "data_loss",
      message: expect.stringMatching(/^onnxruntime-node-1\S+\.tgz is not the archive that was tested/),
    });
    useRegistry(await startNpmRegistry(VERSION, toyArchives(VERSION), true));
    await expect(install(root, { version: VERSION })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^npm could not download onnxruntime-node@1\.99\.0: EINTEGRITY: /),
    });
    expect(await readdir(join(root, "onnx"))).toEqual([]);
  });

  test("says what npm says of a version or a registry that is not there", async () => {
    const root = tempFolder();
    useRegistry(await startNpmRegistry(VERSION, toyArchives(VERSION)));
    const missing = install(root, { version: "1.98.0" });
    await expect(missing).rejects.toThrow(/: ETARGET: No matching version found for onnxruntime-node@1\.98\.0\./);
    useRegistry("http://127.0.0.1:9/");
    await expect(install(root)).rejects.toThrow(/: ECONNREFUSED: .*npm_config_registry=URL chooses another\.$/);
    await expect(install(root, { version: "../1" })).rejects.toThrow('The version is "../1"; expected one such as 1.');
  });

  test("refuses a version without a library for this platform", async () => {
    useRegistry(await startNpmRegistry(VERSION, toyArchives(VERSION, "bin/other.node")));
    await expect(install(tempFolder(), { version: VERSION })).rejects.toThrow(
      `onnxruntime-node 1.99.0 has no library for ${process.platform} ${process.arch}. The driver openvino runs`,
    );
  });

  test("remembers an npm installation that is there, by any of its folders, and refuses a folder that has none", async () => {
    for (const path of [".", "node_modules", "node_modules/onnxruntime-node"]) {
      const { runtime } = await install(tempFolder(), { path });
      expect(runtime).toMatchObject({ version: onnx.testedVersion, folder: resolve(".") });
    }
    const empty = tempFolder();
    await expect(install(tempFolder(), { path: empty })).rejects.toThrow(`${empty} does not have onnxruntime-node`);
  });

  test("a copy in the runtimes folder loads without any other in reach", async () => {
    const root = tempFolder({ "onnx/1.0.0/runtime.json": '{"source":"npm","files":{}}' });
    const modules = join(root, "onnx/1.0.0/node_modules");
    await mkdir(modules);
    for (const { name } of onnx.archives) symlinkSync(resolve("node_modules", name), join(modules, name));
    const probe = await probeRuntime({ runtime: "onnx", library: join(modules, onnx.package) });
    expect(probe).toMatchObject({ loads: true, version: onnx.testedVersion });
  });
});

test("the archives are those that the lock file has", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  for (const { name, integrity } of onnx.archives) {
    expect(packages[`node_modules/${name}`]).toMatchObject({ version: onnx.testedVersion, integrity });
  }
});
