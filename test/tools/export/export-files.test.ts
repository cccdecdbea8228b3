import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Deployment } from "../../../src/tools/export/deployment.ts";
import { EXPORT_TARGETS, exportFiles } from "../../../src/tools/export/export-files.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const DEPLOYMENT: Deployment = {
  ...{ name: "faces", image: "registry.example:5000/faces:2", version: "1.2.3", hasConfig: false },
  args: ["models/face.onnx", "my hooks/faces.ts"],
  files: ["models/face.onnx", "models/face.onnx.data", "my hooks/faces.ts", "my hooks/lib/draw.ts"],
  models: [{ name: "face", path: "models/face.onnx" }],
  hooks: ["my hooks/faces.ts", "my hooks/lib/draw.ts"],
  ...{ secrets: [], written: {}, variables: { KSERVING_MAX_QUEUE: "100" }, drivers: ["onnx"] },
  ...{ needs: { runtimes: [], packages: [] }, hasDevice: false },
  program: { file: "deploy/kserving-1.2.3.tgz", sha256: "0123", isOutside: false },
  ...{ grpcPort: 9000, httpPort: 9001, stopSeconds: 25 },
};
const CONTEXT = {
  folder: { up: "..", down: "deploy" },
  isRemote: (path: string) => path.includes("://"),
  readExample: (name: string) => readFileSync(join("examples/systemd", name), "utf8"),
};
/** Checks documents by the schemas of Kubernetes' API, which have no other fields; of other APIs it knows none. */
const VALIDATE = `
import kubernetes_validate, sys, yaml
for document in yaml.safe_load_all(sys.stdin):
    kubernetes_validate.validate(document, "1.37", strict=True)
`;
const missing = missingPython("What is exported for Kubernetes", "kubernetes_validate, yaml");
const IMAGES = EXPORT_TARGETS.filter((target) => target !== "systemd");

function files(target: (typeof EXPORT_TARGETS)[number], changes: Partial<Deployment> = {}) {
  return exportFiles(target, { ...DEPLOYMENT, ...changes }, CONTEXT);
}

function documents(text = ""): readonly Record<string, never>[] {
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

describe("the image", () => {
  it("has the program, the files where the command line has them, and the command line", () => {
    const { Dockerfile = "" } = files("docker");
    const lines = Dockerfile.split("\n");
    expect(lines).toEqual(expect.arrayContaining(["USER 1000:0", "EXPOSE 9001 9000"]));
    expect(lines).toContain('COPY ["my hooks/lib/draw.ts","my hooks/lib/"]');
    expect(lines.at(-2)).toBe('CMD ["models/face.onnx","my hooks/faces.ts"]');
  });

  it.each(IMAGES)("of %s has the program of the archive beside it, compared with its hash", (target) => {
    const { Dockerfile = "" } = files(target);
    expect(Dockerfile).toContain('COPY ["deploy/kserving-1.2.3.tgz","/tmp/"]\n');
    expect(Dockerfile).toContain(
      'RUN echo "0123  /tmp/kserving-1.2.3.tgz" | sha256sum --check - && npm install --global --ignore-scripts /tmp/kserving-1.2.3.tgz &&',
    );
    for (const text of Object.values(files(target)))
      expect(text).not.toMatch(/npm (?:i|install)\b.* kserving\b|kserving@/);
  });

  it("has the archive from a context of its own where that is not below the folder of the command line", () => {
    const program = { file: "kserving-1.2.3.tgz", sha256: "0123", isOutside: true };
    const { Dockerfile, "compose.yaml": compose } = files("compose", { program });
    expect(Dockerfile).toContain('COPY --from=package ["kserving-1.2.3.tgz","/tmp/"]\n');
    expect(documents(compose)).toMatchObject([
      { services: { faces: { build: { additional_contexts: { package: "." } } } } },
    ]);
  });

  it("has files of any name: Docker takes a path for a pattern with variables", () => {
    const names = {
      files: ["it's $5 [1]*.onnx", "plain.onnx"],
      models: [{ path: "plain.onnx" }],
      hooks: ["$a/hooks.ts"] as const,
    };
    const { Dockerfile } = files("docker", names);
    expect(Dockerfile).toContain('COPY ["it\\\\\'s \\\\$5 [[]1][*].onnx","./"]\n');
    expect(files("kserve", names)["model.Dockerfile"]).toContain('COPY ["\\\\$a/hooks.ts","/models/hooks.ts"]\n');
  });

  it("has what the drivers need", () => {
    expect(files("docker").Dockerfile).not.toMatch(/python|runtimes install/);
    expect(files("docker", { drivers: ["openvino"] }).Dockerfile).toContain("RUN kserving runtimes install openvino");
    const { Dockerfile } = files("docker", { drivers: ["sklearn", "xgboost"] });
    expect(Dockerfile).toMatch(/pip install --no-cache-dir numpy scikit-learn xgboost\n/);
  });

  it("has what its models need besides", () => {
    const needs = { runtimes: ["tensorflow"], packages: ["h5wasm", "@litertjs/core"] };
    const { Dockerfile } = files("docker", { drivers: ["tensorflow"], needs });
    expect(Dockerfile).toContain("--ignore-scripts /tmp/kserving-1.2.3.tgz h5wasm @litertjs/core &&");
    expect(Dockerfile).toContain("RUN kserving runtimes install tensorflow\n");
    expect(files("kserve", { drivers: ["tensorflow"], needs }).Dockerfile).toContain("install tensorflow\n");
  });

  it.each([
    ["lightgbm", "libgomp1", "numpy lightgbm"],
    ["pmml", "default-jre-headless", "numpy pypmml"],
    ["h2o", "default-jre-headless", "numpy h2o jpype1"],
    ["transformers", "python3-venv", "numpy transformers torch"],
  ])("has what %s needs besides: %s of Debian, %s of pip", (driver, debian, projects) => {
    const { Dockerfile } = files("docker", { drivers: [driver] });
    expect(Dockerfile).toMatch(new RegExp(`apt-get install .* ${debian} &&`));
    expect(Dockerfile).toContain(`pip install --no-cache-dir ${projects}\n`);
  });

  it.each(IMAGES)("of %s has one source, one entry point and one command", (target) => {
    const { Dockerfile = "" } = files(target);
    for (const word of ["FROM", "ENTRYPOINT", "CMD"])
      expect(Dockerfile.match(new RegExp(`^${word} `, "gm"))).toHaveLength(1);
  });
});

describe("a file for Compose", () => {
  it("builds from the folder of the command line, and runs without rights", () => {
    const [file] = documents(files("compose")["compose.yaml"]);
    expect(file).toMatchObject({
      services: {
        faces: { build: { context: "..", dockerfile: "deploy/Dockerfile" }, read_only: true, cap_drop: ["ALL"] },
      },
    });
  });
});

describe("manifests of Kubernetes", () => {
  it("select the pods that they make, and name ports that these have", () => {
    const [pods, service, headless, budget] = documents(files("kubernetes")["kubernetes.yaml"]) as never[];
    const labels = { "app.kubernetes.io/name": "faces" };
    const ports = [
      { name: "http", containerPort: 9001 },
      { name: "grpc", containerPort: 9000 },
    ];
    const spec = { terminationGracePeriodSeconds: 30, containers: [{ image: DEPLOYMENT.image, ports }] };
    const template = { metadata: { labels }, spec };
    expect(pods).toMatchObject({ kind: "Deployment", spec: { selector: { matchLabels: labels }, template } });
    const targets = [{ targetPort: "http" }, { targetPort: "grpc" }];
    expect(service).toMatchObject({ kind: "Service", spec: { selector: labels, ports: targets } });
    expect(headless).toMatchObject({ kind: "Service", spec: { clusterIP: "None", selector: labels } });
    expect(budget).toMatchObject({ kind: "PodDisruptionBudget", spec: { selector: { matchLabels: labels } } });
  });

  it.skipIf(missing)("are valid by the schemas of Kubernetes' API, and what is wrong is not", () => {
    const { httpPort: _, ...withoutHttp } = DEPLOYMENT;
    const all = [DEPLOYMENT, withoutHttp, { ...DEPLOYMENT, hasDevice: true, hasConfig: true, secrets: ["TOKEN"] }];
    const texts = all.map((one) => exportFiles("kubernetes", one, CONTEXT)["kubernetes.yaml"] ?? "");
    const validate = (input: string) => execFileSync(PYTHON, ["-c", VALIDATE], { input, stdio: "pipe" });
    validate(texts.join("---\n"));
    expect(() => validate(texts[0]?.replace("replicas:", "replica:") ?? "")).toThrow("replica");
  });

  it("ask gRPC where HTTP is off", () => {
    const { httpPort: _, ...withoutHttp } = DEPLOYMENT;
    const text = exportFiles("kubernetes", withoutHttp, CONTEXT)["kubernetes.yaml"];
    expect(text).toContain("readinessProbe:\n            grpc:\n              port: 9000");
    expect(text).not.toContain("httpGet");
  });

  it.each([
    ["faces:1", "Never"],
    ["registry.example/faces:1", "IfNotPresent"],
    ["registry.example/faces@sha256:0123", "IfNotPresent"],
    ["registry.example:5000/faces", "Always"],
    ["me/faces:latest", "Always"],
  ])("have %s pulled %s: an image that has no registry in its name is somebody else's there", (image, policy) => {
    for (const target of ["kubernetes", "kserve"] as const)
      expect(files(target, { image })[`${target}.yaml`]).toContain(`imagePullPolicy: ${policy}\n`);
    expect(files("helm", { image })["values.yaml"]).toContain(`imagePullPolicy: ${policy}\n`);
  });

  it("are the templates of the chart, but for its values", () => {
    const chart = files("helm");
    const [values] = documents(chart["values.yaml"]);
    expect(values).toMatchObject({
      image: DEPLOYMENT.image,
      imagePullPolicy: "IfNotPresent",
      replicas: 2,
      resources: { limits: { memory: "1Gi" } },
    });
    const rendered = (chart["templates/deployment.yaml"] ?? "")
      .replace("{{ .Values.image }}", DEPLOYMENT.image)
      .replace("{{ .Values.imagePullPolicy }}", "IfNotPresent")
      .replace("{{ .Values.replicas }}", "2")
      .replace("{{ toJson .Values.resources }}", JSON.stringify(values?.resources));
    const plain = documents(files("kubernetes")["kubernetes.yaml"]);
    expect([...documents(rendered), ...documents(chart["templates/others.yaml"])]).toEqual(plain);
    expect(documents(chart["Chart.yaml"])).toMatchObject([{ apiVersion: "v2", name: "faces" }]);
  });
});

describe("files for KServe", () => {
  it("put the model and its hooks into an image of their own, which a runtime serves", () => {
    const { "model.Dockerfile": car, "kserve.yaml": text } = files("kserve");
    expect(car).toContain('COPY ["models/face.onnx.data","/models/"]\nCOPY ["my hooks/faces.ts","/models/hooks.ts"]');
    expect(car).toContain('COPY ["my hooks/lib/draw.ts","/models/lib/draw.ts"]');
    const [runtime, service] = documents(text) as never[];
    const args = expect.arrayContaining(["kserve", "--model_name={{.Name}}", "--model_dir=/mnt/models"]);
    const env = [{ name: "KSERVING_MAX_QUEUE", value: "100" }];
    expect(runtime).toMatchObject({
      ...{ kind: "ServingRuntime", metadata: { name: "faces" } },
      spec: { supportedModelFormats: [{ name: "onnx" }], containers: [{ args, env }] },
    });
    const storageUri = "oci://registry.example:5000/faces-model:2";
    const model = { modelFormat: { name: "onnx" }, runtime: "faces", storageUri };
    expect(service).toMatchObject({ kind: "InferenceService", spec: { predictor: { model } } });
  });

  it("leave a model at an address there, and refuse hooks for it, several models and a configuration", () => {
    const { hooks: _, ...plain } = { ...DEPLOYMENT, models: [{ path: "s3://bucket/face.onnx" }] };
    const remote = exportFiles("kserve", plain, CONTEXT);
    expect([remote["kserve.yaml"], Object.keys(remote)]).toEqual([
      expect.stringContaining("storageUri: s3://bucket/face.onnx"),
      ["Dockerfile", "kserve.yaml"],
    ]);
    expect(() => files("kserve", { models: plain.models })).toThrow("Hooks lie in the folder of the model");
    expect(() => files("kserve", { models: [] })).toThrow("expected one, not 0");
    expect(() => files("kserve", { hasConfig: true })).toThrow("expected flags in place of --config");
    const above = { hooks: ["a/hooks.ts", "lib/x.ts"] } as const;
    expect(() => files("kserve", above)).toThrow("a/hooks.ts imports lib/x.ts; expected files below");
  });
});

describe("a model of texts", () => {
  const texts = ["m/tokenizer.json", "m/config.json", "m/1_Pooling/", "m/dense/"];
  const models = [
    { name: "one", path: "m/onnx/model.onnx", texts },
    { name: "two", path: "m/other.onnx" },
  ] as const;
  const [one] = models;

  it("keeps the folders of its modules in KServe's image", () => {
    const { "model.Dockerfile": car = "" } = files("kserve", { models: [one], files: [one.path, ...texts] });
    expect(car).toContain('COPY ["m/config.json","/models/"]\nCOPY ["m/1_Pooling/","/models/1_Pooling/"]\n');
  });

  it("has its own files in SageMaker's archive, and no other model has them", () => {
    const own = {
      "m/onnx/model.onnx": "",
      "m/other.onnx": "",
      "m/tokenizer.json": "{}",
      "m/config.json": "{}",
      "h.ts": "",
    };
    const folder = tempFolder({ ...own, "m/1_Pooling/config.json": "{}", "m/dense/config.json": "{}" });
    const all = [one.path, "m/other.onnx", ...texts];
    const { "pack-model.sh": text = "" } = files("sagemaker", { models, files: all, hooks: ["h.ts"] });
    execFileSync("sh", ["-c", text], { cwd: folder });
    const listed = execFileSync("tar", ["-tzf", join(folder, "model.tar.gz")], { encoding: "utf8" });
    const packed = listed.split("\n").filter((line) => /[^/]$/.test(line));
    const expected = ["1_Pooling/config.json", "config.json", "dense/config.json", "model.onnx", "tokenizer.json"];
    const inOne = expected.map((file) => `./one/1/${file}`);
    expect(packed.sort()).toEqual(["./code/hooks.ts", ...inOne, "./two/1/other.onnx"]);
  });
});

describe("files for SageMaker", () => {
  it("pack models and hooks as SageMaker unpacks them", () => {
    const others = { "it's/m-int8.onnx": "", "it's/mine/x": "" };
    const own = { "it's/m.onnx": "", "it's/m.data": "", "v/1/m.onnx": "", "h.ts": "", "lib/x.ts": "" };
    const folder = tempFolder({ ...own, ...others });
    const models = [
      { name: "one", path: "it's/m.onnx" },
      { name: "two", path: "v/" },
    ];
    const deployment = { models, hooks: ["h.ts", "lib/x.ts"], files: ["it's/m.onnx", "it's/m.data", "v/"] } as const;
    const text = files("sagemaker", deployment)["pack-model.sh"] ?? "";
    chmodSync(join(folder, "it's/m.onnx"), 0o600);
    symlinkSync(join(folder, "it's/m.onnx"), join(folder, "v/1/m.txt"));
    execFileSync("sh", ["-c", text], { cwd: folder });
    const modes = execFileSync("tar", ["-tvzf", join(folder, "model.tar.gz")], { encoding: "utf8" });
    expect(
      modes
        .trim()
        .split("\n")
        .filter((line) => !/^(?:drwxr-xr-x|-rw-r--r--) /.test(line)),
    ).toEqual([]);
    const listed = execFileSync("tar", ["-tzf", join(folder, "model.tar.gz")], { encoding: "utf8" });
    const packed = listed.split("\n").filter((line) => !line.endsWith("/") && line !== "");
    const expected = ["code/hooks.ts", "code/lib/x.ts", "one/1/m.data", "one/1/m.onnx", "two/1/m.onnx", "two/1/m.txt"];
    expect(packed.sort()).toEqual(expected.map((file) => `./${file}`));
    expect(readFileSync(join(folder, "model.tar.gz")).length).toBeGreaterThan(0);
  });

  it("have the settings as variables, and refuse models at addresses", () => {
    expect(files("sagemaker").Dockerfile).toContain('ENV KSERVING_MAX_QUEUE="100"');
    const variables = { KSERVING_CORS: 'a"$b\\' };
    expect(files("sagemaker", { variables }).Dockerfile).toContain('ENV KSERVING_CORS="a\\"\\$b\\\\"\n');
    const handlers = files("sagemaker", { hooks: ["inference.py", "labels.py"] })["pack-model.sh"];
    expect(handlers).toMatch(/code\/"'inference\.py'\n.*\n.*code\/"'labels\.py'\n/);
    expect(files("sagemaker", { hooks: ["my.py"] })["pack-model.sh"]).toContain("'hooks.py'\n");
    expect(() => files("sagemaker", { models: [{ path: "s3://b/m" }] })).toThrow("expected files of this machine");
    const stages = [
      { name: "a", path: "one.onnx" },
      { name: "a", path: "two.onnx" },
    ];
    expect(() => files("sagemaker", { models: stages })).toThrow('"a" has several models');
  });
});

describe("files for systemd", () => {
  const unitOf = (changes: Partial<Deployment>) => files("systemd", changes)["faces.service"] ?? "";

  it("are the units of the examples, with a name, a command line and ports of their own", () => {
    const { "faces.service": unit, "faces-http.socket": http, ...others } = files("systemd", { httpPort: 80 });
    expect(unit).toContain(
      [
        "WorkingDirectory=/srv/faces",
        'ExecStart=/opt/faces/bin/kserving models/face.onnx "my hooks/faces.ts"',
        "Sockets=faces-http.socket faces-grpc.socket",
        "Environment=KSERVING_RUNTIMES_DIR=/opt/faces/runtimes",
        "",
      ].join("\n"),
    );
    expect(unit).toMatch(/^TimeoutStopSec=30$/m);
    expect(unit).toMatch(/^LogsDirectory=faces$/m);
    expect(unit).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
    expect(http).toMatch(/^ListenStream=80\nFileDescriptorName=http\nService=faces\.service$/m);
    expect(others["faces.logrotate"]).toMatch(
      /^\/var\/log\/faces\/\*\.log [^}]*systemctl kill --kill-whom=main --signal=USR2 faces\.service/m,
    );
    expect(Object.keys(others)).toEqual(["faces-grpc.socket", "faces.logrotate", "install.sh"]);
  });

  it("have words as systemd reads them, and files with secrets as credentials of the service alone", () => {
    const args = ["50% $HOME.onnx", "--tls-key", "it's.pem", "--tls-cert=c.pem", ""];
    const variables = { KSERVING_TLS_KEY: "it's.pem", KSERVING_TLS_CERT: "c.pem" };
    const changes = { args, secrets: ["--tls-key", "--tls-cert"], variables };
    expect(unitOf(changes)).toContain(
      `kserving "50%% $$HOME.onnx" --tls-key \${CREDENTIALS_DIRECTORY}/tls-key --tls-cert=\${CREDENTIALS_DIRECTORY}/tls-cert ""\n`,
    );
    expect(unitOf(changes)).toContain("\nLoadCredential=tls-key:/etc/faces/tls-key\n");
    const script = files("systemd", changes)["install.sh"];
    expect(script).toContain(`install -D -m 600 -- 'it'\\''s.pem' "$root/etc/faces/tls-key"\n`);
  });

  it("have an environment of Python, runtimes and packages where models need them", () => {
    const needs = { runtimes: ["tensorflow"], packages: ["h5wasm"] };
    const drivers = ["lightgbm", "openvino", "tensorflow"];
    const script = files("systemd", { drivers, needs })["install.sh"];
    expect(script).toContain('pip" install --no-cache-dir numpy lightgbm\n');
    expect(script).toContain("# Debian's packages that this needs: python3 python3-venv libgomp1\n");
    for (const name of ["openvino", "tensorflow"]) expect(script).toContain(`" runtimes install ${name}\n`);
    expect(script).toContain('"$here/kserving-1.2.3.tgz" h5wasm\n');
    expect(unitOf({ drivers })).toContain("\nEnvironment=VIRTUAL_ENV=/opt/faces/python\n");
    expect(unitOf({})).not.toContain("VIRTUAL_ENV");
  });

  it.each([
    ["10.0.0.1", "10.0.0.1:9001"],
    ["::1", "[::1]:9001"],
    ["[::]", "[::]:9001"],
    ["localhost", "127.0.0.1:9001"],
  ])("listen at %s", (host, address) => {
    expect(files("systemd", { host })["faces-http.socket"]).toContain(`\nListenStream=${address}\n`);
  });

  it("refuse a name of another host", () => {
    expect(() => files("systemd", { host: "models.example" })).toThrow("expected one, not models.example");
  });

  it.each([
    ["--log-path", "/var/log/faces/server.log"],
    ["--grpc-socket-path", "/run/faces/grpc.sock"],
    ["--model-cache", "/var/cache/faces"],
  ])("refuse what %s names where the service may not write, and take %s", (flag, path) => {
    const write = (place: string) => files("systemd", { written: { [flag]: place } });
    for (const wrong of ["here/file", path.replace("/faces", "/facesx"), path.replace("/faces", "/faces/.."), ""])
      expect(() => write(wrong)).toThrow(`what ${flag} names below /`);
    expect(Object.keys(write(path))).toContain("faces.logrotate");
  });

  it("hide the system's devices but where a model's options ask for one", () => {
    expect(unitOf({})).toMatch(/^PrivateDevices=yes$/m);
    expect(unitOf({ hasDevice: true })).toMatch(/^PrivateDevices=no$/m);
  });
});
