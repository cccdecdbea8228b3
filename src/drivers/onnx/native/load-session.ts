import type { InferenceSession } from "onnxruntime-node";
import type { Pointer } from "../../../native/bind-functions.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check, takePointer } from "./status.ts";

/** GraphOptimizationLevel by ONNX Runtime's names. */
const OPTIMIZATION_LEVELS = { disabled: 0, basic: 1, extended: 2, layout: 3, all: 99 } as const;
const EXECUTION_MODES = { sequential: 0, parallel: 1 } as const;

/** Creates an OrtSession for a model's file, for {@link OnnxApi.ReleaseSession}. */
export function loadSession(context: NativeContext, path: string, options: InferenceSession.SessionOptions): Pointer {
  const { api, environment } = context;
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    setOptions(context, settings, options);
    return takePointer(api, (at) => api.CreateSession(environment, toPath(path), settings, at));
  } finally {
    api.ReleaseSessionOptions(settings);
  }
}

function setOptions({ api }: NativeContext, settings: Pointer, options: InferenceSession.SessionOptions): void {
  const { graphOptimizationLevel = "all", executionMode = "sequential", logSeverityLevel = 4 } = options;
  const { intraOpNumThreads = 0, interOpNumThreads = 0, extra = {} } = options;
  check(api, api.SetSessionGraphOptimizationLevel(settings, OPTIMIZATION_LEVELS[graphOptimizationLevel]));
  check(api, api.SetSessionExecutionMode(settings, EXECUTION_MODES[executionMode]));
  check(api, api.SetSessionLogSeverityLevel(settings, logSeverityLevel));
  check(api, api.SetIntraOpNumThreads(settings, intraOpNumThreads));
  check(api, api.SetInterOpNumThreads(settings, interOpNumThreads));
  for (const [key, value] of Object.entries(extra))
    check(api, api.AddSessionConfigEntry(settings, key, value as string));
}

/** ORTCHAR_T: UTF-16 on Windows. */
function toPath(path: string): Uint8Array {
  return Buffer.from(`${path}\0`, process.platform === "win32" ? "utf16le" : "utf8");
}
