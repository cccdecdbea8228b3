import { reasonText, ServingError } from "../../errors.ts";

/** ONNX Runtime's JavaScript API. */
export type OnnxRuntime = typeof import("onnxruntime-node");

const INSTALL = "npm install onnxruntime-node";

/** Imports ONNX Runtime on first use; throws `failed_precondition` that says how to get it when it is not there or does not load. */
export async function importOnnxRuntime(
  load: () => Promise<unknown> = () => import("onnxruntime-node"),
): Promise<OnnxRuntime> {
  try {
    const module = (await load()) as { default?: OnnxRuntime } & OnnxRuntime;
    return module.default ?? module;
  } catch (cause) {
    throw new ServingError("failed_precondition", `${whatIsWrong(cause)} ${WHAT_TO_DO}`, { cause });
  }
}

const WHAT_TO_DO = `Run: ${INSTALL} (npm 10 behind a closed network: ${INSTALL} --onnxruntime-node-install=skip). The other drivers work without it.`;

function whatIsWrong(cause: unknown): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  const firstLine = reasonText(cause).split("\n", 1)[0] as string;
  if (code === "ERR_MODULE_NOT_FOUND")
    return "The onnx driver needs the package onnxruntime-node, which is not installed.";
  const platform = `${process.platform} ${process.arch}`;
  if (code === "MODULE_NOT_FOUND") {
    return `The package onnxruntime-node has no native library for ${platform}, or is incomplete.`;
  }
  return `The native library of onnxruntime-node does not load on ${platform}: ${firstLine}.`;
}
