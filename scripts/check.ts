import { spawnSync } from "node:child_process";

/** `npm run check -- NAME`: runs one check; without a name all that CI runs and needs nothing installed first. */
interface Check {
  readonly what: string;
  /** Commands; the last one gets the arguments behind the check's name. */
  readonly steps: readonly string[];
}

const BUILD = "npm run build";

const CHECKS: Readonly<Record<string, Check>> = {
  rest: {
    what: "everything of CI but tests: the linter, the house, generated files, unused code, the package",
    steps: [
      ...["npm run lint", "tsx scripts/check-house.ts", "npm run lock -- --check", "npm run gen -- --check", "knip"],
      ...["tsx scripts/check-package.ts", "tsx scripts/check-packages.ts"],
    ],
  },
  house: {
    what: "sizes, doors and corridors of src beside their bounds; --list: small files that belong to their neighbour",
    steps: ["tsx scripts/check-house.ts"],
  },
  package: {
    what: "the packed tarballs: linted, installed in an empty folder, started, type-checked",
    steps: ["tsx scripts/check-package.ts", "tsx scripts/check-packages.ts"],
  },
  node: {
    what: "tests with other versions of Node, which it downloads",
    steps: ["tsx scripts/check-node-versions.ts"],
  },
  attack: {
    what: "hostile requests, and what they do to another client; --help for its flags",
    steps: [BUILD, "tsx bench/attack.ts"],
  },
  soak: {
    what: "mixed traffic, killed threads and reloads for ten minutes, and whether memory grows; --lane: runs in the main thread too",
    steps: [BUILD, "tsx bench/soak.ts"],
  },
  leaks: {
    what: "each kind of request alone, thousands of times, and loads of each driver: what the server holds before and after",
    steps: [BUILD, "tsx bench/leaks.ts"],
  },
  simulation: {
    what: "what is served (--of serving), queues, hooks or streams, or all, through histories that chance makes, with a clock and faults of their own: --minutes 2, --seed N for one; --mutants: whether it finds deliberate faults",
    steps: ["tsx scripts/check-simulation.ts"],
  },
  fuzz: {
    what: "changed messages and files to every decoder for ten minutes, from those on that reach new branches; --tls: to the encrypted ports of a server; --replay FILE: a finding",
    steps: [BUILD, "tsx scripts/fuzz.ts"],
  },
  mutants: {
    what: "access, limits or archives with one change of its code after another, by Stryker: those that no test notices",
    steps: [BUILD, "tsx scripts/check-mutants.ts"],
  },
  "http2-differential": {
    what: "changed recordings of HTTP/2 clients to our server and to node:http2's, for ten minutes: differences that RFC 9113 does not explain",
    steps: ["tsx scripts/check-http2-differential.ts"],
  },
  costs: {
    what: "messages of others, each length twice the one before up to the longest: 2.2 times the time at most; NAMES: entries that begin so; --short: as far as tests read them",
    steps: ["tsx scripts/check-costs.ts"],
  },
  faults: {
    what: "the Nth call of open, read, write, rename, mmap, fork, connect, ftruncate, fsync and thread fails, for every N; --sample: for some, --every=5: for every fifth (needs gcc)",
    steps: ["tsx scripts/check-faults.ts"],
  },
  grpc: {
    what: "grpc-go's client, grpc-health-probe, grpcurl and h2spec against our gRPC transport (needs Go)",
    steps: ["tsx scripts/check-grpc.ts"],
  },
  client: {
    what: "the client in Node, Deno and Bun, which come from the npm registry",
    steps: [BUILD, "tsx scripts/check-client.ts"],
  },
  "text-clients": {
    what: "clients of OpenAI, Ollama, Cohere, Anthropic and MCP from npm and PyPI, and MCP's conformance suite, each call against a toy server; --only openai: programs of that name",
    steps: [BUILD, "tsx scripts/check-text-clients.ts"],
  },
  operators: {
    what: "ONNX's operator cases by the driver, over every wire and by args.session (needs Debian's libonnx-testdata); --hostile: each operator of ONNX Runtime and libtensorflow (--runtime openvino) on empty, odd, least and greatest inputs, in processes of their own",
    steps: ["tsx scripts/check-operators.ts"],
  },
  kernels: {
    what: "hostile inputs to every operation of the portable engine and TensorFlow.js, beside TensorFlow (.ci/run)",
    steps: ["tsx scripts/hostile/portable.ts"],
  },
  models: {
    what: "DRIVER FILES: good requests, bad sizes and the same good ones again, on model files or folders of your own",
    steps: ["tsx scripts/check-models.ts"],
  },
  "model-files": {
    what: "loads every model file below FOLDERS on every driver that takes it, in a process each",
    steps: ["tsx scripts/check-model-files.ts"],
  },
  compare: {
    what: "kserving compare on models of packages, each on every driver that takes it (needs the environments of .ci/run)",
    steps: [BUILD, "tsx scripts/check-compare.ts"],
  },
  storage: {
    what: "MinIO, fake-gcs-server, Azurite and a registry through a proxy that cuts, corrupts and delays (needs Go)",
    steps: ["tsx scripts/check-storage.ts"],
  },
  foreign: {
    what: "Simple TensorFlow Serving's clients and examples, from a CHECKOUT of its repository",
    steps: [BUILD, "tsx scripts/check-foreign.ts"],
  },
  sagemaker: {
    what: "SageMaker's container's own tests, from a CHECKOUT of its repository (needs pip, pytest, requests and numpy, but no Pillow)",
    steps: [BUILD, "tsx scripts/check-sagemaker.ts"],
  },
  page: {
    what: "every part of the page by axe, and screenshots at two widths in both themes in .cache/page; --minutes 10: the page in Chromium for so long does not grow",
    steps: [BUILD, "vitest run --mode long test/page/accessible.long.test.ts", "tsx scripts/check-page.ts"],
  },
  site: {
    what: "the documents as a site, which it builds: every link, a search, both themes and a phone's width in Chromium",
    steps: ["npm run site", "tsx scripts/check-site.ts"],
  },
  proxies: {
    what: "a rolling restart behind HAProxy and nginx under load loses no request (needs both)",
    steps: [BUILD, "tsx scripts/check-proxies.ts"],
  },
  deploy: {
    what: "the chart and the manifests against the API of Kubernetes and KServe (needs Go)",
    steps: [BUILD, "tsx deploy/check-deploy.ts"],
  },
  sidecars: {
    what: "KServe's agent and router and Knative's queue-proxy before the server (needs root and Go)",
    steps: [BUILD, "tsx deploy/check-sidecars.ts"],
  },
  image: {
    what: "runs what npm run build:image -- TARGET built as a cluster does: no account, read-only root, limited memory (needs runc)",
    steps: ["tsx deploy/check-image.ts"],
  },
  exports: {
    what: "builds the images that kserving export describes, in an empty folder, and runs them as its platforms do (needs root, debootstrap and runc)",
    steps: [BUILD, "tsx deploy/check-exports.ts"],
  },
  kubernetes: {
    what: "the chart and the runtimes in a Kubernetes of one node, which it builds and runs (needs root and Go)",
    steps: ["npm run build:image", "tsx deploy/check-kubernetes.ts"],
  },
};

const [name, ...args] = process.argv.slice(2);
const check = name !== undefined && Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
if (name === undefined) runAll(["npm test", "npm run test:long", "npm run check -- rest"]);
else if (check !== undefined) runAll(check.steps, args);
else {
  console.log(name === "list" ? "Checks:" : `There is no check "${name}"; expected one of:`);
  for (const [known, { what }] of Object.entries(CHECKS)) console.log(`  ${known}  ${what}`);
  if (name !== "list") process.exitCode = 2;
}

/** Runs commands one after the other, up to the first that fails. */
function runAll(steps: readonly string[], args: readonly string[] = []): void {
  for (const [index, step] of steps.entries()) {
    const [program = "", ...words] = step.split(" ");
    const { status } = spawnSync(program, [...words, ...(index === steps.length - 1 ? args : [])], {
      stdio: "inherit",
    });
    process.exitCode = status ?? 1;
    if (status !== 0) return;
  }
}
