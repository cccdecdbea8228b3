/** A path as ONNX Runtime takes it (ORTCHAR_T): UTF-8 ending in zero, on Windows UTF-16. */
export function toNativePath(path: string): Uint8Array {
  return Buffer.from(`${path}\0`, process.platform === "win32" ? "utf16le" : "utf8");
}
