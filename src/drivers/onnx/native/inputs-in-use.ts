/** Inputs whose memory ONNX Runtime reads at present; the garbage collector leaves them alone. */
export const inputsInUse = new Set<object>();
