import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { deviceNote } from "../../../src/cli/commands/export-command.ts";
import { readDeployment } from "../../../src/cli/export/read-deployment.ts";
import { readVersion } from "../../../src/version.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const MODEL = "test/fixtures/models/half-plus-two.onnx";
const HOOKS = "examples/hooks/ui.ts";

/** npm takes two seconds to pack the package, at which the first test looks; here the archive is empty. */
function packNothing(): void {
  const npm = `#!/bin/sh\nfor folder; do :; done\n: > "$folder/kserving-${readVersion()}.tgz"\n`;
  const folder = tempFolder({ npm });
  chmodSync(join(folder, "npm"), 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test("export writes the files for a command line, and says what to do with them", async () => {
  const folder = join(tempFolder(), "my out");
  const archive = `kserving-${readVersion()}.tgz`;
  const { code, stdout } = await runCommand(["export", "kserve", "--to", folder, "--image", "r/half:1", "--", MODEL]);
  expect([code, readdirSync(folder)]).toEqual([0, ["Dockerfile", "kserve.yaml", archive, "model.Dockerfile"]]);
  const sha256 = createHash("sha256")
    .update(readFileSync(join(folder, archive)))
    .digest("hex");
  expect(readFileSync(join(folder, "Dockerfile"), "utf8")).toContain(`echo "${sha256}  /tmp/${archive}" | sha256sum`);
  // As a shell takes them.
  const at = (file: string) => `'${folder}/${file}'`;
  expect(stdout).toContain(
    [
      `  docker build --build-context package='${folder}' -f ${at("Dockerfile")} -t r/half:1 .`,
      "  docker push r/half:1",
      `  docker build -f ${at("model.Dockerfile")} -t r/half-model:1 .`,
      "  docker push r/half-model:1",
      `  kubectl apply -f ${at("kserve.yaml")}`,
    ].join("\n"),
  );
  expect(readFileSync(join(folder, "model.Dockerfile"), "utf8")).toContain(`COPY ["${MODEL}","/models/"]`);
});

test("export says in JSON what it wrote, that a password is in it, and the commands that use it", async () => {
  packNothing();
  const folder = join(tempFolder(), "out");
  const address = "https://me:geheim@models.example/m.onnx";
  const served = ["--tls-cert=a", "--tls-key=b", "--driver", "onnx", address, "--log-level=warn"];
  const { code, stdout } = await runCommand(["export", "compose", "--to", folder, "--json", "--", ...served]);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      folder,
      files: ["Dockerfile", "compose.yaml", `kserving-${readVersion()}.tgz`],
      notes: [
        expect.stringMatching(/^Files of --tls-cert, --tls-key are not in the image/),
        expect.stringMatching(
          /^The files have what is secret in https:\/\/\*\*\*@models\.example\/m\.onnx: keep them,/,
        ),
      ],
      commands: [`docker compose -f ${folder}/compose.yaml up --build`],
    },
  ]);
  expect(readFileSync(join(folder, "Dockerfile"), "utf8")).toContain("geheim");
});

test.each([
  ["docker", "docker run --gpus all"],
  ["compose", "gpus: all at the service"],
  ["kubernetes", "nvidia.com/gpu: 1"],
  ["helm", "--set 'resources.limits.nvidia"],
  ["kserve", "nvidia.com/gpu: 1"],
  ["sagemaker", "an instance type"],
  ["systemd", "PrivateDevices=no"],
] as const)("files of %s say how a model that asks for a device gets it", (target, way) => {
  expect(deviceNote(target, { name: "m", hasDevice: true }).join()).toContain(way);
  expect(deviceNote(target, { name: "m", hasDevice: false })).toEqual([]);
});

test("the value that gives the pods of a chart a GPU is among those that the chart has", async () => {
  packNothing();
  const folder = join(tempFolder(), "out");
  const args = ["helm", "--to", folder, "--json", "--", MODEL, "-o", "runtime_backend=CUDA"];
  const { stdout } = await runCommand(["export", ...args]);
  const [, path = ""] = /--set '([^'=]+)=1'/.exec(JSON.parse(stdout).notes.join("\n")) ?? [];
  // As helm reads it: a dot within a key has a backslash before it.
  const keys = path.split(/(?<!\\)\./).map((key) => key.replaceAll("\\", ""));
  expect(keys.pop()).toBe("nvidia.com/gpu");
  const values = parse(readFileSync(join(folder, "values.yaml"), "utf8"));
  expect(keys.reduce((value, key) => value?.[key], values)).toEqual({ memory: "1Gi" });
  expect(readFileSync(join(folder, "templates/deployment.yaml"), "utf8")).toContain(`{{ toJson .Values.${keys[0]} }}`);
});

test("a command line is read as it would be served", async () => {
  const args = [MODEL, "--port=9100", "--max-queue", "7", "--shutdown-delay=1", "--tls-cert=a", "--tls-key=b"];
  expect(await readDeployment(args, {})).toEqual({
    ...{ name: "half-plus-two", image: "half-plus-two:1", version: expect.any(String), args, files: [MODEL] },
    models: [{ name: "half-plus-two", path: MODEL }],
    needs: { runtimes: [], packages: [] },
    ...{ drivers: ["onnx"], grpcPort: 9100, httpPort: 9001, stopSeconds: 21, hasConfig: false },
    ...{ secrets: ["--tls-cert", "--tls-key"], written: {}, hasDevice: false },
    variables: expect.objectContaining({ KSERVING_MAX_QUEUE: "7", KSERVING_SHUTDOWN_DELAY: "1" }),
  });
});

test("files are the model's with its weights, folders, hooks with what they import, and configurations", async () => {
  const folder = tempFolder({
    "models/net.xml": "<net/>",
    "models/net.bin": "",
    "models/other.onnx": "",
    "all/a/model.onnx": "",
    "hooks.ts": 'import { one } from "./lib/one.ts";\nexport const preprocess = () => one;\n',
    "lib/one.ts": "export const one = {};\n",
    "models.yaml": "models:\n  - { name: b, path: all/a }\n",
  });
  const at = (path: string) => join(folder, path);
  const piped = await readDeployment([at("models/net.xml"), at("hooks.ts")], {}, folder);
  expect(piped).toMatchObject({ args: ["models/net.xml", "hooks.ts"], hooks: ["hooks.ts", "lib/one.ts"] });
  expect([...piped.files].sort()).toEqual(["hooks.ts", "lib/one.ts", "models/net.bin", "models/net.xml"]);
  const named = await readDeployment(["--config", at("models.yaml"), "--model-repository", at("all")], {}, folder);
  expect([...named.files].sort()).toEqual(["all/", "all/a/", "models.yaml"]);
  expect(named).toMatchObject({ hasConfig: true, drivers: ["onnx"] });
});

test.each([
  [[], "needs a command line"],
  [["--", "/nowhere/m.onnx"], "is not below"],
  [["--", "examples/none.onnx"], "does not exist"],
  [["--", MODEL, "--host", "127.0.0.1"], "reached from within the container alone"],
  [["--", MODEL, "--mystery"], "unknown option"],
])("export refuses %j", async (args, message) => {
  const { code, stderr } = await runCommand(["export", "docker", "--to", join(tempFolder(), "out"), ...args]);
  expect([code > 0, stderr]).toEqual([true, expect.stringContaining(message)]);
});

test("export refuses files around the folder, a folder in use, and other targets", async () => {
  const folder = tempFolder({ "m.onnx": "" });
  await expect(readDeployment([join(folder, "m.onnx")], {}, HOOKS)).rejects.toThrow("is not below");
  const used = await runCommand(["export", "docker", "--to", folder, "--", MODEL]);
  expect(used.stderr).toContain("has m.onnx in it");
  expect((await runCommand(["export", "nomad", "--", MODEL])).stderr).toContain("Expected one of docker, compose");
});

test("files are also those of a driver of the user's, and imports that are called as the hook file", async () => {
  const folder = tempFolder({
    "models/net.onnx": "",
    "hooks.ts": 'import { one } from "./lib/hooks.ts";\nexport const preprocess = () => one;\n',
    "lib/hooks.ts": "export const one = {};\n",
    "my-driver.ts": "export default {};\n",
  });
  const at = (path: string) => join(folder, path);
  const hooks = await readDeployment([at("models/net.onnx"), at("hooks.ts")], {}, folder);
  expect(hooks.hooks).toEqual(["hooks.ts", "lib/hooks.ts"]);
  const own = await readDeployment(["--driver", at("my-driver.ts"), "--model-path", at("models/net.onnx")], {}, folder);
  expect(own.files).toContain("my-driver.ts");
  const missing = ["--driver", "onnx", "--model-path", at("models/none.onnx")];
  await expect(readDeployment(missing, {}, folder)).rejects.toThrow("does not exist; expected a file or a folder");
});

test("paths of the command line are those in the image, also the folder itself and those around it", async () => {
  const folder = tempFolder({ "net/model.onnx": "" });
  const { args } = await readDeployment(["--model-repository", folder], {}, folder);
  expect(args).toEqual(["--model-repository", "."]);
  const read = await readDeployment([`--model=net=${join(folder, "net")}`], {}, folder);
  expect(read.args).toEqual(["--model=net=net"]);
  const around = await readDeployment([`../${basename(process.cwd())}/${MODEL}`], {});
  expect(around.args).toEqual([MODEL]);
});

test.each(["2024 a very long name that goes on and on for ever and ever", "-", "A_b"])(
  "the name %j becomes one of Kubernetes, with room for an ending",
  async (name) => {
    const { name: label } = await readDeployment([MODEL], { name });
    expect(label).toMatch(/^[a-z]([a-z0-9-]{0,56}[a-z0-9])?$/);
  },
);

test("export says of an image without a registry that nothing pulls it", async () => {
  packNothing();
  const folder = join(tempFolder(), "out");
  const { stdout } = await runCommand(["export", "kubernetes", "--to", folder, "--", MODEL]);
  expect(stdout).toContain('"half-plus-two:1" names no registry, so nothing pulls it');
  expect(stdout).not.toContain("docker push");
});

test("export says which files are to be mounted: keys, unless at an address, and what is written but for /tmp", async () => {
  packNothing();
  const notesOf = async (target: string, ...args: string[]) => {
    const folder = join(tempFolder(), "out");
    const { stdout } = await runCommand(["export", target, "--to", folder, "--json", "--", MODEL, ...args]);
    return JSON.parse(stdout).notes.join("\n");
  };
  const jwt = ["--auth-jwt-issuer=i", "--auth-jwt-audience=a"];
  expect(await notesOf("docker", "--auth-jwks=keys.json", ...jwt)).toContain(
    "Files of --auth-jwks are not in the image",
  );
  expect(await notesOf("docker", "--auth-jwks=https://id.example/keys", ...jwt)).toBe("");
  expect(await notesOf("docker", "--log-path=logs/s.log", "--request-log=/tmp/r.jsonl")).toMatch(
    /^What --log-path name is/,
  );
  expect(await notesOf("docker", "--request-log=/tmp/r.jsonl")).toBe("");
  expect(await notesOf("systemd", "-o", "runtime_backend=CUDA")).toContain("kserving.service sees the devices");
  expect(await notesOf("systemd", "--auth-jwks=keys.json", ...jwt)).toContain(
    "install.sh copies the files of --auth-jwks",
  );
});

test("export for systemd says what installs the service, which may listen on this machine alone", async () => {
  packNothing();
  const folder = join(tempFolder(), "out");
  const args = [MODEL, "--host=localhost", "--tls-cert=cert.pem", "--tls-key=key.pem"];
  const { code, stdout } = await runCommand(["export", "systemd", "--to", folder, "--name=half", "--", ...args]);
  const archive = `kserving-${readVersion()}.tgz`;
  const units = ["half-grpc.socket", "half-http.socket", "half.logrotate", "half.service"];
  expect([code, readdirSync(folder)]).toEqual([0, [...units, "install.sh", archive]]);
  expect(stdout).toContain(`  sudo sh ${folder}/install.sh\n  systemctl status half.service`);
  expect(stdout).toContain("install.sh copies the files of --tls-cert, --tls-key to where root reads them.");
  expect(readFileSync(join(folder, "half-http.socket"), "utf8")).toContain("\nListenStream=127.0.0.1:9001\n");
});

test("a model of texts goes into the image with its tokenizer and its modules", async () => {
  const modules = [{ type: "sentence_transformers.models.Pooling", path: "1_Pooling" }];
  const folder = tempFolder({
    ...{ "onnx/model.onnx": "", "tokenizer.json": "{}", "config.json": "{}", "other.json": "{}" },
    ...{ "modules.json": JSON.stringify(modules), "1_Pooling/config.json": "{}" },
  });
  const path = join(folder, "onnx/model.onnx");
  const read = async (args: readonly string[]) =>
    (await readDeployment([path, "--driver", "onnx", ...args], {}, folder)).files;
  const all = ["onnx/model.onnx", "tokenizer.json", "config.json", "modules.json", "1_Pooling/"];
  for (const args of [[], ["-o", "texts=true"]]) expect(await read(args)).toEqual(all);
  expect(await read(["-o", "texts=false"])).toEqual(["onnx/model.onnx"]);
});

test.each(["../", ".", "a/../..", "/etc", "C:\\\\x"])(
  "a module's folder is beside the model: %s is refused",
  async (place) => {
    const modules = [{ type: "sentence_transformers.models.Pooling", path: place }];
    const files = { "own/m.onnx": "", "own/tokenizer.json": "{}", "own/config.json": "{}", "secret.json": "{}" };
    const folder = tempFolder({ ...files, "own/modules.json": JSON.stringify(modules) });
    const args = [join(folder, "own/m.onnx"), "--driver", "onnx", "-o", "texts=true"];
    await expect(readDeployment(args, {}, folder)).rejects.toThrow("expected folders beside it alone");
  },
);
