import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../observability/logger.ts";
import { childStream, WatchedChild } from "../../platform/processes/watched-child.ts";
import { threadEntry } from "../../platform/threads/thread-entry.ts";
import type { OwnSharedFiles } from "./shared-files.ts";

/** Descriptors of a child begin so: nothing to read, two streams for people, the socket, the memory files. */
const STREAMS = ["ignore", "pipe", "pipe", "pipe"] as const;
const SOCKET_FD = 3;

/** Environment and memory of a child. */
export interface ProcessParts {
  /** Variables that the runtime reads, set for it if the server's own have no value. */
  readonly environment: Readonly<Record<string, string>>;
  /** Memory files, closed when it has ended; undefined if there are none. */
  readonly files: OwnSharedFiles | undefined;
}

/**
 * A child process for a model, with the streams to it. It is in its own group, so
 * that what ends the server's lets it be.
 */
export class SpawnedProcess {
  readonly stream: Duplex;
  /** Resolves when it has ended, with why, in words that can follow "the process". */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #watched: WatchedChild;
  #killed: string | undefined;

  constructor({ environment, files }: ProcessParts, log: Logger) {
    const fds = files?.fds ?? [];
    const entry = fileURLToPath(threadEntry("models/processes/model-process-entry"));
    // A child has its own numbers for its descriptors.
    const numbers = fds.map((_, index) => String(SOCKET_FD + 1 + index));
    this.#child = spawn(process.execPath, [entry, ...numbers], {
      env: childEnvironment(process.env, environment),
      stdio: [...STREAMS, ...fds],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.stream = childStream(this.#child, SOCKET_FD);
    const onExit = () => this.#killGroup();
    this.#watched = new WatchedChild(this.#child, {
      stream: this.stream,
      log: log.child({ process: this.#child.pid }),
      onExit,
    });
    this.ended = this.#watched.ended.then((why) => this.#killed ?? why);
    void this.ended.then(() => files?.close());
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Its last lines on standard error. */
  get lastWords(): string {
    return this.#watched.lastWords;
  }

  /** Ends it at once, with all that it has started; `why` is the reason that {@link ended} resolves with. */
  kill(why: string): void {
    this.#killed ??= why;
    this.#killGroup();
  }

  #killGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {}
  }
}

/** Variables that a model's process inherits: those that the system, the runtimes and their libraries read. */
const NAMES: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "XDG_DATA_HOME", "XDG_CACHE_HOME"],
  ...["LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "GLIBC_TUNABLES"],
  ...["VIRTUAL_ENV", "CONDA_PREFIX", "UV_THREADPOOL_SIZE", "KSERVING_RUNTIMES_DIR", "KSERVING_DEBUGGABLE"],
  ...["SystemRoot", "windir", "SystemDrive", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "PATHEXT"],
]);

const PREFIXES = [
  ...["LC_", "MALLOC_", "OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "OPENBLAS_", "TBB_"],
  ...["ORT_", "OV_", "OPENVINO_", "TF_", "XLA_", "CUDA_", "CUDNN_", "NVIDIA_", "HIP_", "ROCR_"],
];

/** `KSERVING_OPENVINO_LIB` and the like. */
const LIBRARY = /^[A-Z]+(_[A-Z]+)*_LIB$/;

/**
 * glibc gives the memory of a large tensor back to the system each time otherwise, and takes a page fault for every 4
 * KB of the next one. Other allocators do not know them.
 */
const KEEP_MEMORY = { MALLOC_MMAP_THRESHOLD_: String(32 << 20), MALLOC_TRIM_THRESHOLD_: String(64 << 20) };

/**
 * Environment of a model's process: nothing of the server's but what its runtime may read, so that passwords and tokens
 * stay where they are. `defaults` are set if the server's has no value.
 */
function childEnvironment(
  environment: NodeJS.ProcessEnv,
  defaults: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const isPassed = (name: string) =>
    NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix)) || LIBRARY.test(name);
  const passed = Object.entries(environment).filter(([name]) => isPassed(name));
  return { ...KEEP_MEMORY, ...defaults, ...Object.fromEntries(passed) };
}
