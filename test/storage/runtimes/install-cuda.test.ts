import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { installCuda } from "../../../src/storage/runtimes/install-cuda.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel } from "./make-wheel.ts";
import { recordingReporter } from "./toy-runtime.ts";

afterEach(() => void vi.unstubAllEnvs());

const wheel = (project: string, version: string, path: string) =>
  makeWheel(
    { [path]: `${project} ${version}`, "nvidia/cu13/include/a.h": "" },
    { project, version, python: "py3-none" },
  );

const WHEELS = {
  "nvidia-cuda-runtime": [
    wheel("nvidia_cuda_runtime", "12.9.79", "nvidia/cuda_runtime/lib/libcudart.so.12"),
    wheel("nvidia_cuda_runtime", "13.5.37", "nvidia/cu13/lib/libcudart.so.13"),
    wheel("nvidia_cuda_runtime", "13.10.1", "nvidia/cu13/lib/libcudart.so.13"),
  ],
  "nvidia-cublas": [wheel("nvidia_cublas", "13.1.0", "nvidia/cu13/lib/libcublas.so.13")],
  "nvidia-curand": [wheel("nvidia_curand", "10.4.5", "nvidia/cu13/lib/libcurand.so.10")],
  "nvidia-cuda-nvrtc": [wheel("nvidia_cuda_nvrtc", "13.1.0", "nvidia/cu13/lib/libnvrtc-builtins.so.13.1")],
  "nvidia-cufft": [wheel("nvidia_cufft", "12.1.0", "nvidia/cu13/lib/libcufft.so.12")],
  "nvidia-nvjitlink": [wheel("nvidia_nvjitlink", "13.1.0", "nvidia/cu13/bin/x86_64/nvJitLink_130_0.dll")],
  "nvidia-cudnn-cu13": [wheel("nvidia_cudnn_cu13", "9.28.1", "nvidia/cudnn/lib/libcudnn.so.9")],
};

/** Starts an index of several projects. */
async function startIndexOf(projects: Readonly<Record<string, readonly { name: string; bytes: Uint8Array }[]>>) {
  const all = new Map(Object.values(projects).flatMap((files) => files.map(({ name, bytes }) => [name, bytes])));
  const server = createServer(({ url = "" }, response) => {
    const name = decodeURIComponent(url.split("/").findLast((part) => part !== "") ?? "");
    if (all.has(name)) return void response.end(all.get(name));
    const files = projects[name]?.map((file) => ({ filename: file.name, url: `/files/${file.name}`, hashes: {} }));
    const type = { "content-type": "application/vnd.pypi.simple.v1+json" };
    response.writeHead(files === undefined ? 404 : 200, type).end(JSON.stringify({ files }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  vi.stubEnv("PIP_INDEX_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`);
}

const install = (root: string) =>
  installCuda({ cuda: 13, root, signal: new AbortController().signal, reporter: recordingReporter() });

test("CUDA's libraries come from the newest wheels of that version, all into one folder", async () => {
  await startIndexOf(WHEELS);
  const root = tempFolder();
  const { runtime } = await install(root);
  expect(runtime).toMatchObject({ name: "cuda", version: "13.10.1" });
  const files = (await readdir(runtime.folder)).sort();
  const libraries = ["libcublas.so.13", "libcudart.so.13", "libcudnn.so.9", "libcufft.so.12", "libcurand.so.10"];
  expect(files).toEqual([...libraries, "libnvrtc-builtins.so.13.1", "nvJitLink_130_0.dll", "runtime.json"]);
  expect(await readFile(`${runtime.folder}/libcudart.so.13`, "utf8")).toBe("nvidia_cuda_runtime 13.10.1");
});

test("nothing is installed where a wheel is missing", async () => {
  await startIndexOf({ ...WHEELS, "nvidia-cudnn-cu13": [] });
  const root = tempFolder();
  const message = "The package index has no wheel nvidia-cudnn-cu13 9 for this machine.";
  await expect(install(root)).rejects.toMatchObject({ code: "not_found", message });
  expect(await readdir(`${root}/cuda`)).toEqual([]);
});
