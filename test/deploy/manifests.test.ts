import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { KSERVE_FLAGS } from "../../src/cli/foreign/kserve-flags.ts";
import { flagOf, SETTINGS, settingsOf } from "../../src/cli/settings/settings.ts";
import { DRIVER_NAMES } from "../../src/drivers/registry.ts";

const { version } = parse(read("package.json"));

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
}

function documents(path: string) {
  return parseAllDocuments(read(path)).map((document) => document.toJS());
}

/** Names of flags, without their values. */
function flagsIn(args: readonly string[]): readonly string[] {
  return args.filter((arg) => arg.startsWith("--")).map((arg) => arg.split("=")[0] as string);
}

describe.each(documents("deploy/kserve/runtimes.yaml").map((runtime) => [runtime.metadata.name, runtime.spec]))(
  "KServe's runtime %s",
  (_, { containers: [container], supportedModelFormats: formats, protocolVersions, annotations }) => {
    const [http, grpc] = container.ports;

    test("gives arguments that kserving kserve has, with the ports that it names", () => {
      const [command, ...args] = container.args;
      expect(command).toBe("kserve");
      expect(flagsIn(args).filter((flag) => !(flag.slice(2) in KSERVE_FLAGS))).toEqual([]);
      expect(args).toContain("--model_name={{.Name}}");
      expect(args).toContain(`--http_port=${http.containerPort}`);
      expect(args).toContain(`--grpc_port=${grpc.containerPort}`);
    });

    test("asks the HTTP port, which is the first, for its probes and metrics", () => {
      const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
      expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(probes.map(() => http.containerPort));
      expect(annotations["prometheus.kserve.io/port"]).toBe(String(http.containerPort));
    });

    test("takes formats that drivers have, over every protocol", () => {
      const names: string[] = formats.map(({ name }: { name: string }) => name);
      expect(names.filter((name) => !DRIVER_NAMES.includes(name))).toEqual([]);
      expect(names).toContain("onnx");
      expect(protocolVersions).toEqual(["v1", "v2", "grpc-v2"]);
    });
  },
);

describe("KServe's runtimes for its Knative mode", () => {
  const [standard] = documents("deploy/kserve/runtimes.yaml").map(({ spec }) => spec);
  const runtimes = documents("deploy/kserve/knative.yaml").map(({ spec }) => spec);

  test("have one port each, by a name that Knative knows, and together all protocols", () => {
    const ports = runtimes.map(({ containers: [{ ports: own }] }) => own);
    expect(ports).toMatchObject([[{ name: "http1", containerPort: 8080 }], [{ name: "h2c", containerPort: 8081 }]]);
    const protocols = runtimes.flatMap(({ protocolVersions }) => protocolVersions);
    expect(protocols).toEqual(standard.protocolVersions);
  });

  test("are those of the Standard mode but for ports and probes", () => {
    for (const { protocolVersions, containers, ...rest } of runtimes) {
      const { protocolVersions: _, containers: others, ...expected } = standard;
      expect(rest).toEqual(expected);
      const [{ ports, startupProbe, readinessProbe, livenessProbe, ...container }] = containers;
      expect(others[0]).toMatchObject(container);
    }
  });
});

test("a stop takes less than the 30 seconds that KServe's pods have", () => {
  expect(Number(SETTINGS.shutdownDelayMs.default) + Number(SETTINGS.drainTimeoutMs.default)).toBeLessThan(30_000);
});

describe("the manifests for kustomize", () => {
  const [deployment] = documents("deploy/kubernetes/base/deployment.yaml");
  const { containers, terminationGracePeriodSeconds } = deployment.spec.template.spec;

  test("give flags that kserving has", () => {
    const known = settingsOf("serve").map(([name]) => flagOf(name));
    expect(flagsIn(containers[0].args).filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test("leave time for the whole stop", () => {
    const seconds = containers[0].args
      .filter((arg: string) => /^--(?:shutdown-delay|drain-timeout)=/.test(arg))
      .map((arg: string) => Number(arg.split("=")[1]));
    expect(seconds).toHaveLength(2);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(seconds[0] + seconds[1]);
  });

  test("have ports of the same names in the pod and in both services", () => {
    const inPod = containers[0].ports.map(({ name }: { name: string }) => name);
    expect(inPod).toEqual(["grpc", "http", "metrics"]);
    for (const { spec } of documents("deploy/kubernetes/base/services.yaml"))
      expect(spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)).toEqual(inPod);
  });

  test("run this version", () => {
    expect(containers[0].image).toBe(`kserving:${version}`);
  });
});

describe("the chart", () => {
  const values = parse(read("deploy/helm/kserving/values.yaml"));
  const { global, ...properties } = parse(read("deploy/helm/kserving/values.schema.json")).properties;

  test("has the version of the program", () => {
    const { version: own, appVersion } = parse(read("deploy/helm/kserving/Chart.yaml"));
    expect([own, appVersion]).toEqual([version, version]);
  });

  test("describes each of its values in the schema, and has each that the schema describes", () => {
    expect(Object.keys(properties).sort()).toEqual(Object.keys(values).sort());
    for (const [name, { properties: inner, additionalProperties }] of Object.entries<Record<string, object>>(
      properties,
    ))
      if (additionalProperties === (false as unknown) && !["resources", "tmp"].includes(name))
        expect(Object.keys(inner as object).sort(), name).toEqual(Object.keys(values[name]).sort());
  });

  test("names in its templates only values that it has", () => {
    const templates = [
      "_container.tpl",
      "deployment.yaml",
      "service.yaml",
      "service-monitor.yaml",
      "network-policy.yaml",
    ];
    const text = templates.map((name) => read(`deploy/helm/kserving/templates/${name}`)).join("");
    const paths = [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => (path as string).split("."));
    expect(paths.length).toBeGreaterThan(30);
    const missing = paths.filter((path) => path.reduce((value, key) => value?.[key], values) === undefined);
    expect(missing).toEqual([]);
  });
});
