import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { INSTRUCTIONS } from "../../deploy/image/build-target.ts";
import { readDockerfile } from "../../deploy/image/read-dockerfile.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FILE = join(ROOT, "deploy/docker/Dockerfile");
const COMPOSE = join(ROOT, "deploy/docker/docker-compose.yml");
const { args, stages } = readDockerfile(readFileSync(FILE, "utf8"));
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

describe("the Dockerfile", () => {
  test("has a target for each set of runtimes, each from another or from an image that is an argument", () => {
    const names = stages.map(({ name }) => name);
    expect(names).toEqual(["packages", "base", "openvino", "tensorflow", "python", "full"]);
    const images = Object.keys(args).map((name) => `\${${name}}`);
    expect(stages.map(({ from }) => from).filter((from) => !names.includes(from) && !images.includes(from))).toEqual(
      [],
    );
  });

  test("has no step that the build without an engine leaves out", () => {
    const used = new Set(stages.flatMap(({ steps }) => steps.map(({ instruction }) => instruction)));
    expect([...used].filter((instruction) => !(instruction in INSTRUCTIONS))).toEqual([]);
    expect(used).toContain("HEALTHCHECK");
  });

  test.each(stages.slice(1).map(({ name, steps }) => [name, steps] as const))("%s runs without root", (_, steps) => {
    const users = steps.filter(({ instruction }) => instruction === "USER").map(({ text }) => text);
    expect(users.at(-1) ?? "1000:0").toBe("1000:0");
  });

  test("copies files that there are, and names this version", () => {
    const copied = stages
      .flatMap(({ steps }) => steps)
      .filter((step) => step.instruction === "COPY" && !step.flags.from);
    const files = copied.flatMap(({ text }) => text.split(" ").slice(0, -1)).filter((name) => !name.includes("*"));
    expect(files.filter((name) => !existsSync(join(dirname(FILE), name)))).toEqual([]);
    expect(files).toContain("entrypoint.sh");
    expect(stages.flatMap(({ steps }) => steps).map(({ text }) => text)).toContain(`VERSION=${version}`);
    expect(readFileSync(FILE, "utf8")).toContain(`"name": "kserving-image", "version": "${version}"`);
  });
});

test("each native package has its build for arm64 where it has one for amd64", () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const needed = Object.entries<{ dev?: boolean; peer?: boolean }>(packages).filter(
    ([, { dev, peer }]) => !dev && !peer,
  );
  const names = new Set(needed.map(([name]) => name));
  const native = [...names].filter((name) => /linux-x64$/.test(name));
  expect(native.map((name) => name.replace(/^.*node_modules\//, "")).sort()).toEqual([
    "@esbuild/linux-x64",
    "@img/sharp-libvips-linux-x64",
    "@img/sharp-linux-x64",
    "@koromix/koffi-linux-x64",
  ]);
  expect(native.filter((name) => !names.has(name.replace(/x64$/, "arm64")))).toEqual([]);
  const runtime = join(ROOT, "node_modules/onnxruntime-node/bin/napi-v6/linux");
  expect(["x64", "arm64"].filter((arch) => !existsSync(join(runtime, arch, "onnxruntime_binding.node")))).toEqual([]);
});

describe("docker-compose.yml", () => {
  const { services } = parse(readFileSync(COMPOSE, "utf8"));

  test("mounts files that there are, and builds a target that there is", () => {
    const mounts: string[] = Object.values<{ volumes: string[] }>(services).flatMap(({ volumes }) => volumes);
    const files = mounts.map((mount) => mount.split(":")[0] as string).filter((path) => path.startsWith("."));
    expect(files.filter((path) => !existsSync(join(dirname(COMPOSE), path)))).toEqual([]);
    expect(files.length).toBe(5);
    expect(stages.map(({ name }) => name)).toContain(/:-(\w+)\}/.exec(services.kserving.build.target)?.[1]);
  });

  test("scrapes the service's HTTP port under the job that the alerts ask for", () => {
    const { scrape_configs: configs } = parse(readFileSync(join(dirname(COMPOSE), "prometheus.yml"), "utf8"));
    const job = { job_name: "kserving", static_configs: [{ targets: ["kserving:9001"] }] };
    expect(configs).toEqual([job]);
    expect(services.kserving.ports).toContain("9001:9001");
  });
});

describe("readDockerfile", () => {
  test("joins continued lines, reads flags and leaves comments out", () => {
    const text = "ARG A=b\nFROM x AS y\n# no\nRUN one \\\n  && two\nCOPY --from=z --chmod=755 a b/\n";
    const steps = [
      { instruction: "RUN", flags: {}, text: "one && two" },
      { instruction: "COPY", flags: { from: "z", chmod: "755" }, text: "a b/" },
    ];
    expect(readDockerfile(text)).toEqual({ args: { A: "b" }, stages: [{ from: "x", name: "y", steps }] });
  });

  test("refuses a stage without a name, and a line that is none", () => {
    expect(() => readDockerfile("FROM x\n")).toThrow("FROM x: expected IMAGE AS NAME");
    expect(() => readDockerfile("FROM x AS y\nRUN\n")).toThrow("Not a line of a Dockerfile: RUN");
  });
});
