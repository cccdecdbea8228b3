/** Files that users pass instead of an ONNX model: the offset of their signature, the signature, and advice. */
const SIGNATURES: readonly (readonly [offset: number, signature: string, meaning: string])[] = [
  [0, "version https://git-lfs", 'a Git LFS pointer; run "git lfs pull" to get the model itself'],
  [
    0,
    "PK\x03\x04",
    "a zip archive, as PyTorch (.pt, .jit) and Keras (.keras) write; --driver pytorch and tensorflow run these",
  ],
  [0, "\x89HDF", "an HDF5 file, as Keras (.h5) writes; export the model to ONNX"],
  [0, "\x80\x02", "a Python pickle; export the model to ONNX"],
  [0, "\x80\x04", "a Python pickle; export the model to ONNX"],
  [0, "\x1f\x8b", "gzip; unpack it"],
  [0, "GGUF", "a GGUF model, which ONNX Runtime does not run"],
  [4, "TFL3", "a TensorFlow Lite model; convert it to ONNX"],
  [8, '{"', "a safetensors file: weights without a model"],
];

/** The same for text files, by how their first characters read. */
const TEXTS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/^\s*<(!doctype )?html/i, "a web page; the download probably failed"],
  [/^\s*<\?xml[\s\S]*<net /, "an OpenVINO model; its driver is openvino"],
  [/^\s*<\?xml/, "XML; expected the binary file that an export to ONNX writes"],
  [/^[\s\x20-\x7e]+$/, "plain text; expected the binary file that an export to ONNX writes"],
];

/** The kind of a file by its first bytes, as a text that follows "it looks like"; undefined for an unknown kind. */
export function describeFileKind(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString("latin1");
  const signature = SIGNATURES.find(([offset, expected]) => text.startsWith(expected, offset));
  return (signature ?? TEXTS.find(([pattern]) => pattern.test(text)))?.at(-1) as string | undefined;
}
