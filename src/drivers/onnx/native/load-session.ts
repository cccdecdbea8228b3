import type { InferenceSession } from "onnxruntime-node";
import type { Pointer } from "../../../native/bind-functions.ts";
import { addProvider } from "./add-provider.ts";
import { addCustomOps } from "./custom-ops.ts";
import type { NativeContext } from "./open-onnx.ts";
import type { WantedProvider } from "./providers-wanted.ts";
import { check, takePointer } from "./status.ts";
import { toNativePath } from "./to-native-path.ts";

/** GraphOptimizationLevel by ONNX Runtime's names. */
const OPTIMIZATION_LEVELS = { disabled: 0, basic: 1, extended: 2, layout: 3, all: 99 } as const;
const EXECUTION_MODES = { sequential: 0, parallel: 1 } as const;

/** Options of a session, and of what the JavaScript API has no options for. */
interface NativeOptions extends InferenceSession.SessionOptions {
  /** Libraries of custom operators. */
  readonly customOpPaths?: string | undefined;
  /** The execution providers before the CPU's. */
  readonly providers: readonly WantedProvider[];
  /** Takes the place of the file's bytes. */
  readonly bytes?: Uint8Array | undefined;
}

/** Creates an OrtSession for a model's file, for {@link OnnxApi.ReleaseSession}. */
export function loadSession(context: NativeContext, path: string, options: NativeOptions): Pointer {
  const { api, environment } = context;
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    setOptions(context, settings, options);
    for (const provider of options.providers) addProvider(context, settings, provider);
    if (options.customOpPaths !== undefined) addCustomOps(context, settings, options.customOpPaths);
    const { bytes } = options;
    if (bytes === undefined)
      return takePointer(api, (at) => api.CreateSession(environment, toNativePath(path), settings, at));
    return takePointer(api, (at) => api.CreateSessionFromArray(environment, bytes, bytes.length, settings, at));
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
