/** Bytes at a place of a file, and what it then is. */
type Signature = readonly [offset: number, bytes: string, meaning: string];
/** The beginning of a text, and what it then is. */
type Text = readonly [start: RegExp, meaning: string];

const ZIP = "PK\x03\x04";
/** Place of the first name in a zip archive. */
const ZIP_NAME = 30;

/** Files that are found in the place of a model, of any format. */
const NO_MODELS: readonly Text[] = [
  [/^version https:\/\/git-lfs/, 'a Git LFS pointer; run "git lfs pull" to get the model itself'],
  [/^\s*<(!doctype )?html/i, "a web page; the download probably failed"],
  [/^(Salted__|-----BEGIN PGP MESSAGE|age-encryption\.org)/, "an encrypted file; decrypt it"],
];

const SIGNATURES: readonly Signature[] = [
  [0, "\x89HDF", "an HDF5 file, as Keras (.h5) writes; its driver is tensorflow"],
  [0, "\x80\x02", "a Python pickle, as scikit-learn and PyTorch write; their drivers are sklearn and pytorch"],
  [0, "\x80\x03", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [0, "\x80\x04", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [0, "\x80\x05", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [4, "TFL3", "a TensorFlow Lite model; its driver is tensorflow"],
  [4, "ORTM", "a model of ONNX Runtime's ORT format; its driver is onnx"],
  [8, '{"', "a safetensors file: weights without a model"],
  [0, "GGUF", "a GGUF model, which no driver runs"],
  [0, "ftrt", "an engine of TensorRT; serve the ONNX model that it was built from"],
  [0, "CBM1", "a CatBoost model; its driver is catboost"],
  [0, "{L", "an XGBoost model; its driver is xgboost"],
  [0, "binf", "an XGBoost model; its driver is xgboost"],
  [0, "\x93NUMPY", "an array of numpy; expected a model"],
  [0, "\x1f\x8b", "gzip; unpack it"],
  [0, "BZh", "bzip2; unpack it"],
  [0, "\xfd7zXZ", "xz; unpack it"],
  [0, "\x28\xb5\x2f\xfd", "zstd; unpack it"],
  [0, "7z\xbc\xaf", "a 7z archive; unpack it"],
  [257, "ustar", "a tar archive; unpack it"],
  [0, "\x08", "an ONNX model, or a SavedModel's saved_model.pb under another name"],
];

/** Zip archives by the first name in them. */
const ARCHIVES: readonly Text[] = [
  [
    /^[^/]*\/(data\.pkl|constants\.pkl|version|byteorder|data\/|code\/|archive_format)/,
    "a PyTorch file; its driver is pytorch",
  ],
  [/^(metadata|config)\.json/, "a Keras file; its driver is tensorflow"],
  [/^[^/]*\.npy/, "arrays of numpy; expected a model"],
  [/^/, "a zip archive; unpack it"],
];

const TEXTS: readonly Text[] = [
  [/^\s*\{\s*"learner"/, "an XGBoost model; its driver is xgboost"],
  [
    /^\s*\{[\s\S]*("format"\s*:\s*"(graph|layers)-model"|"modelTopology"\s*:)/,
    "a TensorFlow.js model; its driver is tensorflow",
  ],
  [/^tree\r?\n/, "a LightGBM model; its driver is lightgbm"],
  [/^\s*<[\s\S]*<net /, "an OpenVINO model; its driver is openvino"],
  [/^\s*<[\s\S]*<PMML/, "a PMML model; its driver is pmml"],
  [/^\s*<\?xml/, "XML; expected a model"],
  [/^node \{/, "a graph in protobuf's text format; write it with as_text=False"],
  [/^[\s\x20-\x7e]+$/, "plain text; expected a model"],
];

/**
 * The kind of a file by its first bytes, one character each, as a text that follows
 * "it looks like"; undefined for an unknown kind.
 */
export function describeFileKind(head: string): string | undefined {
  const noModel = describeNoModel(head);
  if (noModel !== undefined) return noModel;
  if (head.startsWith(ZIP)) return find(ARCHIVES, head.slice(ZIP_NAME));
  return SIGNATURES.find(([offset, bytes]) => head.startsWith(bytes, offset))?.[2] ?? find(TEXTS, head);
}

/** The same for what no framework reads, whatever it is called. */
export function describeNoModel(head: string): string | undefined {
  return find(NO_MODELS, head);
}

function find(texts: readonly Text[], head: string): string | undefined {
  return texts.find(([start]) => start.test(head))?.[1];
}
