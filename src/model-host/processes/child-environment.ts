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
 * stay where they are. `defaults` are set where the server's has no value.
 */
export function childEnvironment(
  environment: NodeJS.ProcessEnv,
  defaults: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const isPassed = (name: string) =>
    NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix)) || LIBRARY.test(name);
  const passed = Object.entries(environment).filter(([name]) => isPassed(name));
  return { ...KEEP_MEMORY, ...defaults, ...Object.fromEntries(passed) };
}
