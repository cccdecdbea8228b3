import { execFileSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { floats, loadNative, openNative } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const COMPILER = process.env.CC ?? "cc";

/** Registers an op that multiplies by seven, by TensorFlow's C API alone, so that no headers are needed. */
const TIMES_SEVEN = `
#include <stddef.h>
#include <stdint.h>
typedef void* P;
P TF_NewStatus(void); void TF_DeleteStatus(P);
P TF_NewOpDefinitionBuilder(const char*); void TF_RegisterOpDefinition(P, P);
void TF_OpDefinitionBuilderAddInput(P, const char*); void TF_OpDefinitionBuilderAddOutput(P, const char*);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(P, void (*)(P, P)); void TF_ShapeInferenceContextSetUnknownShape(P, P);
P TF_NewKernelBuilder(const char*, const char*, P (*)(P), void (*)(P, P), void (*)(P)); void TF_RegisterKernelBuilder(const char*, P, P);
void TF_GetInput(P, int, P*, P); P TF_AllocateOutput(P, int, int, const int64_t*, int, size_t, P);
int64_t TF_TensorElementCount(P); int TF_NumDims(P); int64_t TF_Dim(P, int); P TF_TensorData(P); void TF_DeleteTensor(P);

static void compute(P kernel, P context) {
  P status = TF_NewStatus(), in;
  int64_t dims[8];
  TF_GetInput(context, 0, &in, status);
  for (int i = 0; i < TF_NumDims(in); i++) dims[i] = TF_Dim(in, i);
  int64_t count = TF_TensorElementCount(in);
  P out = TF_AllocateOutput(context, 0, 1, dims, TF_NumDims(in), count * 4, status);
  for (int64_t i = 0; i < count; i++) ((float*)TF_TensorData(out))[i] = 7 * ((float*)TF_TensorData(in))[i];
  TF_DeleteTensor(in); TF_DeleteTensor(out); TF_DeleteStatus(status);
}

__attribute__((constructor)) static void load(void) {
  P status = TF_NewStatus(), op = TF_NewOpDefinitionBuilder("NobodyKnowsThis");
  TF_OpDefinitionBuilderAddInput(op, "x: float"); TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, TF_ShapeInferenceContextSetUnknownShape);
  TF_RegisterOpDefinition(op, status);
  TF_RegisterKernelBuilder("NobodyKnowsThis", TF_NewKernelBuilder("NobodyKnowsThis", "CPU", 0, compute, 0), status);
  TF_DeleteStatus(status);
}`;

const OTHER_VERSION = `
void a_function_of_another_tensorflow(void);
__attribute__((constructor)) static void load(void) { a_function_of_another_tensorflow(); }`;

/** Compiles a C file to NAME.so in a folder of its own, linked to TensorFlow; returns the folder. */
function compile(name: string, source: string, library: string): string {
  const folder = tempFolder({ "op.c": source });
  const framework = basename(library).replace(/libtensorflow(_cc)?/, "libtensorflow_framework");
  const link = ["-L", dirname(library), `-l:${framework}`];
  execFileSync(COMPILER, ["-shared", "-fPIC", "-o", `${folder}/${name}.so`, `${folder}/op.c`, ...link]);
  return folder;
}

const missing = await missingRuntime("Custom ops of TensorFlow", async () => {
  await tensorflowRuntime();
  if (process.platform !== "linux") throw new Error("the test compiles for Linux.");
  execFileSync(COMPILER, ["--version"]);
});

describe.skipIf(missing !== undefined)("custom_op_paths", () => {
  it("names a library that does not fit this TensorFlow, and why", async () => {
    const folder = compile("other", OTHER_VERSION, await tensorflowRuntime());
    await expect(openNative("unknown_operation", { custom_op_paths: folder })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^The custom op library "other.so" does not load into TensorFlow [\d.]+: undefined symbol: a_function_of_another_tensorflow\. It has to be built for this version\.$/,
      ),
    });
  });

  it("loads libraries and folders of them before the model that needs their ops, the same one again for each model", async () => {
    const folder = compile("seven", TIMES_SEVEN, await tensorflowRuntime());
    for (const path of [`${folder}/seven.so`, folder]) {
      const model = await loadNative("unknown_operation", { custom_op_paths: path });
      expect(model.signatures[DEFAULT_SIGNATURE]?.outputs?.map(({ name }) => name)).toEqual(["y"]);
      expect((await predict(model, { x: floats([2], 1, 2) })).y).toEqual(floats([2], 7, 14));
    }
  });
});
