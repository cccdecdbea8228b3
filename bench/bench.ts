/** `npm run bench -- NAME`: runs one benchmark, which prints a table of ratios within one run. */
interface Benchmark {
  readonly what: string;
  readonly run: (args: readonly string[]) => Promise<void>;
}

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  smoke: {
    what: "tiny and 602 KB echo over gRPC and HTTP, beside bare grpc-js and node:http servers",
    run: async () => (await import("./smoke.ts")).runSmoke(),
  },
  engine: {
    what: "everything that the engine promises, beside bare servers; --quick for 5 rounds, --only TEXT for some groups",
    run: async (args) => (await import("./engine.ts")).runEngine(args),
  },
  isolate: {
    what: "models in processes of their own (--isolate) beside the same models in threads; --quick for 5 rounds",
    run: async (args) => (await import("./engine.ts")).runEngine([...args, "--only", "isolated models"]),
  },
  supervisor: {
    what: "what the supervisor costs: marks of runs, the start, memory; --quick for 5 rounds",
    run: async (args) => (await import("./supervisor.ts")).runSupervisor(args),
  },
  accounting: {
    what: "what the accounts of memory, clients and places take of a tiny request",
    run: async () => (await import("./accounting.ts")).runAccounting(),
  },
  metrics: {
    what: "tiny requests with and without metrics; --quick for 5 rounds",
    run: async (args) => (await import("./engine.ts")).runEngine([...args, "--only", "metrics"]),
  },
  native: {
    what: "processor time per request beside bare node:http2 and node:http, as docs/performance.md compares it with a native server; --quick for 5 rounds, --only TEXT",
    run: async (args) => (await import("./native.ts")).runNative(args),
  },
  paired: {
    what: "processor time per request of this build over another's (--against FOLDER, a built checkout); --quick for 5 rounds",
    run: async (args) => (await import("./paired.ts")).runPaired(args),
  },
  kserve: {
    what: "codecs and images of KServe V2, beside a copy, protobufjs, sharp, node:http and JSON.parse; --quick for 5 rounds",
    run: async (args) => (await import("./kserve.ts")).runKserve(args),
  },
  stream: {
    what: "answers in parts beside unary ones, generators in the main thread and in a hook thread, 1000 open answers; --quick for 5 rounds, --only speed or memory",
    run: async (args) => (await import("./stream.ts")).runStream(args),
  },
  text: {
    what: "embeddings a second of MiniLM over HTTP and gRPC, beside a bare loop, LitServe and BentoML, which it installs (PYTHON_TEXT = an interpreter that has them); --quick, --only TEXT",
    run: async (args) => (await import("./text.ts")).runText(args),
  },
  reload: {
    what: "500 models, versions that are renamed and switched under load, a model loaded 1000 times (--cycles N); --only TEXT",
    run: async (args) => (await import("./reload/reload.ts")).runReload(args),
  },
  "rest-vs-grpc": {
    what: "an image classifier and a detector with all its outputs, by REST JSON, b64, binary and gRPC; --quick for 2 rounds",
    run: async (args) => (await import("./rest-vs-grpc.ts")).runRestVsGrpc(args),
  },
  python: {
    what: "the pytorch driver beside the same forward in Python (PYTHON names the interpreter); --quick for 5 rounds",
    run: async (args) => (await import("./python.ts")).runPython(args),
  },
  "hooks-python": {
    what: "hooks in Python beside the same hooks in TypeScript (PYTHON names the interpreter); --quick for 5 rounds",
    run: async (args) => (await import("./hooks-python.ts")).runHooksPython(args),
  },
  tensorflow: {
    what: "the tensorflow driver beside Python TensorFlow (PYTHON names the interpreter); --quick for 5 rounds",
    run: async (args) => (await import("./tensorflow.ts")).runTensorflow(args),
  },
  simulate: {
    what: "latencies of 1 to 1000 pods (docs/scaling.md); --measure: of one server and of three beside the prediction",
    run: async (args) => (await import("./simulate.ts")).runSimulation(args),
  },
  openvino: {
    what: "the openvino driver beside Python OpenVINO (PYTHON names the interpreter); --quick for 5 rounds",
    run: async (args) => (await import("./openvino.ts")).runOpenvino(args),
  },
};

// Node reads these certificates, and then all of its own, whenever it starts: 30 ms that are none of ours.
delete process.env.NODE_EXTRA_CA_CERTS;

const [name = "", ...args] = process.argv.slice(2);
const benchmark = Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
if (benchmark === undefined) {
  console.log(name === "list" ? "Benchmarks:" : `There is no benchmark "${name}"; expected one of:`);
  for (const [known, { what }] of Object.entries(BENCHMARKS)) console.log(`  ${known}  ${what}`);
  if (name !== "list") process.exitCode = 2;
} else {
  await benchmark.run(args);
}
