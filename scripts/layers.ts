/** A folder of src/, or a folder of such folders. */
interface Layer {
  readonly folder: string;
  /** The folders that it may import from, in addition to itself and the files of src/. */
  readonly mayImport: readonly string[];
  /** The packages that belong to it. */
  readonly packages?: readonly string[];
}

/** Packages that only one folder imports. */
export const OWNED_PACKAGES = [
  "@grpc/**",
  "express",
  "busboy",
  "onnxruntime-node",
  "sharp",
  "koffi",
  "yaml",
  "jose",
  "preact",
  "uplot",
] as const;

const BASICS = ["text", "async", "observability", "tensor", "signature"];
const TRANSPORT = [...BASICS, "net", "limits", "shared-memory", "access", "codecs", "codec-host", "serving"];

/**
 * The folders of src/ with the folders that each may import, from the lowest layer to the highest. `npm run layers`
 * writes it into the linter's configuration; docs/architecture.md says what each folder is for.
 */
export const LAYERS: readonly Layer[] = [
  { folder: "text", mayImport: [] },
  { folder: "async", mayImport: [] },
  { folder: "observability", mayImport: ["text"] },
  { folder: "machine", mayImport: [] },
  { folder: "limits", mayImport: ["text", "async", "observability", "machine"] },
  { folder: "net", mayImport: ["limits"] },
  { folder: "shared-memory", mayImport: [] },
  { folder: "user-module", mayImport: ["text", "observability"] },
  { folder: "archives", mayImport: [] },
  { folder: "tensor", mayImport: ["text"] },
  { folder: "signature", mayImport: ["tensor"] },
  { folder: "codecs", mayImport: ["text", "tensor", "limits"], packages: ["yaml"] },
  {
    folder: "storage",
    mayImport: ["text", "async", "observability", "machine", "user-module", "archives", "codecs"],
    packages: ["jose"],
  },
  { folder: "tracing", mayImport: ["async", "observability", "codecs"] },
  { folder: "access", mayImport: ["text", "observability", "limits", "codecs"], packages: ["jose"] },
  { folder: "threads", mayImport: ["text", "async", "observability", "tensor"] },
  { folder: "codec-host", mayImport: ["text", "async", "machine", "limits", "tensor", "threads"] },
  { folder: "native", mayImport: ["text", "async", "observability", "machine"], packages: ["koffi"] },
  { folder: "processes", mayImport: ["observability"] },
  {
    folder: "runtimes",
    mayImport: ["text", "async", "observability", "machine", "user-module", "archives", "native"],
    packages: ["koffi", "onnxruntime-node"],
  },
  {
    folder: "drivers",
    mayImport: [...BASICS, "machine", "user-module", "archives", "codecs", "native", "processes", "runtimes"],
    packages: ["koffi", "onnxruntime-node"],
  },
  {
    folder: "inspection",
    mayImport: ["text", "tensor", "drivers"],
  },
  { folder: "media", mayImport: ["text", "async", "limits", "tensor"], packages: ["sharp"] },
  { folder: "hooks", mayImport: [...BASICS, "user-module", "media", "drivers"] },
  {
    folder: "model-host",
    mayImport: [...BASICS, "machine", "limits", "user-module", "media", "threads", "native", "processes", "drivers"],
  },
  {
    folder: "pipeline",
    mayImport: [...BASICS, "limits", "user-module", "media", "threads", "codec-host", "drivers", "hooks", "model-host"],
  },
  {
    folder: "hook-host",
    mayImport: [...BASICS, "machine", "user-module", "media", "threads", "drivers", "hooks", "model-host", "pipeline"],
  },
  { folder: "serving", mayImport: [...BASICS, "limits", "drivers", "hooks", "model-host", "pipeline"] },
  { folder: "grpc", mayImport: TRANSPORT },
  { folder: "proxy", mayImport: TRANSPORT, packages: ["express", "busboy"] },
  { folder: "protocols", mayImport: [...TRANSPORT, "media", "grpc", "proxy"], packages: ["@grpc/**", "busboy"] },
  { folder: "page", mayImport: ["text", "tensor", "protocols", "observability"], packages: ["preact", "uplot"] },
  { folder: "remote", mayImport: [...TRANSPORT, "pipeline", "grpc", "protocols"], packages: ["@grpc/**"] },
  {
    folder: "client",
    mayImport: [...BASICS, "limits", "codecs", "grpc", "protocols", "remote"],
    packages: ["@grpc/**"],
  },
  {
    folder: "request-log",
    mayImport: [...BASICS, "limits", "codecs", "codec-host", "drivers", "pipeline", "serving", "protocols"],
  },
  {
    folder: "repository",
    mayImport: [
      ...BASICS,
      "codecs",
      "user-module",
      "storage",
      "drivers",
      "hooks",
      "model-host",
      "pipeline",
      "hook-host",
      "serving",
    ],
  },
  { folder: "export", mayImport: ["text", "codecs", "runtimes"] },
  { folder: "replay", mayImport: [...BASICS, "limits", "codecs", "protocols", "remote", "repository"] },
  {
    folder: "server",
    mayImport: [
      ...TRANSPORT,
      "machine",
      "threads",
      "storage",
      "drivers",
      "hooks",
      "model-host",
      "pipeline",
      "repository",
      "grpc",
      "proxy",
      "protocols",
      "remote",
      "request-log",
      "tracing",
    ],
  },
  { folder: "comparison", mayImport: [...BASICS, "client", "replay", "server"] },
  {
    folder: "benchmark",
    mayImport: [...BASICS, "threads", "grpc", "client", "server"],
  },
  {
    folder: "testing",
    mayImport: [
      "observability",
      "tensor",
      "user-module",
      "drivers",
      "hooks",
      "model-host",
      "pipeline",
      "repository",
      "server",
    ],
  },
  { folder: "tuning", mayImport: ["text", "benchmark"] },
  {
    folder: "cli",
    mayImport: [
      ...TRANSPORT,
      "machine",
      "user-module",
      "native",
      "processes",
      "storage",
      "runtimes",
      "drivers",
      "inspection",
      "media",
      "model-host",
      "repository",
      "export",
      "proxy",
      "protocols",
      "client",
      "remote",
      "replay",
      "tracing",
      "request-log",
      "server",
      "comparison",
      "benchmark",
      "tuning",
    ],
  },
];
