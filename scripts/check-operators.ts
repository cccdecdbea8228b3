import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { hostileReport } from "./operators/hostile-report.ts";
import { kernelSubjects } from "./operators/onnx-kernels.ts";
import { onnxSubjects } from "./operators/onnx-subjects.ts";
import type { Subject } from "./operators/subject.ts";
import { type Finding, sweep } from "./operators/sweep.ts";
import { tensorflowSubjects } from "./operators/tensorflow-subjects.ts";

const HELP = `Runs ONNX's operator cases by the driver. With --hostile it gives each operator of a runtime, in a process of its own,
empty inputs, inputs of odd shapes, and zero, negative, least, greatest and infinite values, and tells which of them end
the process, hang, take all memory, answer memory that nothing has written, or change what good inputs are answered.

  npm run check -- operators
  npm run check -- operators --hostile                      ONNX Runtime, then TensorFlow's library
  npm run check -- operators --hostile --runtime openvino   OpenVINO on ONNX models
  npm run check -- operators --hostile --only Div,LSTM      some operators; --all tells of every trial
  npm run check -- operators --hostile --cases FOLDER       other cases than those of Debian's libonnx-testdata`;

const OPTIONS = {
  hostile: { type: "boolean", default: false },
  runtime: { type: "string", default: "onnx,tensorflow" },
  only: { type: "string" },
  cases: { type: "string", default: "/usr/share/libonnx-testdata/data/node" },
  workers: { type: "string", default: "2" },
  all: { type: "boolean", default: false },
  help: { type: "boolean" },
} as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else process.exitCode = flags.hostile ? await tryRuntimes(flags.runtime.split(",")) : runCases();

/** The cases need what `npm run build` makes. Gives the process's exit code. */
function runCases(): number {
  const steps = ["npm run build", "npx vitest run --mode long test/drivers/onnx/operator"];
  return spawnSync(steps.join(" && "), { shell: true, stdio: "inherit" }).status ?? 1;
}

async function tryRuntimes(runtimes: readonly string[]): Promise<number> {
  for (const runtime of runtimes) console.log(await tryRuntime(runtime));
  return 0;
}

async function tryRuntime(runtime: string): Promise<string> {
  const findings: Finding[] = [];
  await sweep(subjectsOf(runtime), Number(flags.workers), (finding) => {
    findings.push(finding);
    if (flags.all)
      console.log(
        Object.values(finding)
          .map((text) => text.replace(/\s+/g, " "))
          .join("\t"),
      );
  });
  return hostileReport(runtime, findings);
}

function subjectsOf(runtime: string): Iterable<Subject> {
  const only = (operator: string) => flags.only?.split(",").includes(operator) ?? true;
  if (runtime === "tensorflow") return tensorflowSubjects(only);
  if (runtime === "onnx") return onnxRuntimeSubjects(only);
  return onnxSubjects(flags.cases, { driver: runtime, options: {}, only });
}

function* onnxRuntimeSubjects(only: (operator: string) => boolean): Generator<Subject> {
  const options = { engine: "native" };
  const tried = new Set<string>();
  for (const subject of onnxSubjects(flags.cases, { driver: "onnx", options, only })) {
    tried.add(subject.operator);
    yield subject;
  }
  yield* kernelSubjects(options, (operator) => only(operator) && !tried.has(operator));
}
