import type { PlacedFunctions } from "../../../platform/native/memory.ts";

/** The version of the API whose places these are; later libraries have it too. */
export const API_VERSION = 17;

/** OrtApiBase: what the library itself exports a pointer to. */
export const API_BASE = {
  GetApi: [0, "void *", "int"],
  GetVersionString: [1, "str"],
} as const;

/**
 * The functions of ONNX Runtime's C API that we call, with their places in OrtApi:
 * https://github.com/microsoft/onnxruntime/blob/main/include/onnxruntime/core/session/onnxruntime_c_api.h. A pointer
 * that one returns is an OrtStatus, null for success; what it creates it writes to its last argument.
 */
export const C_API = {
  GetErrorCode: [1, "int", "void *"],
  GetErrorMessage: [2, "str", "void *"],
  ReleaseStatus: [93, "void", "void *"],

  CreateEnv: [3, "void *", "int", "str", "void *"],
  DisableTelemetryEvents: [6, "void *", "void *"],
  GetAvailableProviders: [125, "void *", "void *", "void *"],
  ReleaseAvailableProviders: [126, "void *", "void *", "int"],

  CreateSessionOptions: [10, "void *", "void *"],
  ReleaseSessionOptions: [100, "void", "void *"],
  SetSessionExecutionMode: [13, "void *", "void *", "int"],
  SetSessionLogSeverityLevel: [22, "void *", "void *", "int"],
  SetSessionGraphOptimizationLevel: [23, "void *", "void *", "int"],
  SetIntraOpNumThreads: [24, "void *", "void *", "int"],
  SetInterOpNumThreads: [25, "void *", "void *", "int"],
  AddSessionConfigEntry: [130, "void *", "void *", "str", "str"],
  CreateCUDAProviderOptions: [205, "void *", "void *"],
  UpdateCUDAProviderOptions: [206, "void *", "void *", "void *", "void *", "size_t"],
  ReleaseCUDAProviderOptions: [208, "void", "void *"],
  SessionOptionsAppendExecutionProvider_CUDA_V2: [204, "void *", "void *", "void *"],
  CreateTensorRTProviderOptions: [171, "void *", "void *"],
  UpdateTensorRTProviderOptions: [172, "void *", "void *", "void *", "void *", "size_t"],
  ReleaseTensorRTProviderOptions: [174, "void", "void *"],
  SessionOptionsAppendExecutionProvider_TensorRT_V2: [170, "void *", "void *", "void *"],
  RegisterCustomOpsLibrary_V2: [228, "void *", "void *", "void *"],

  CreateSession: [7, "void *", "void *", "void *", "void *", "void *"],
  CreateSessionFromArray: [8, "void *", "void *", "void *", "size_t", "void *", "void *"],
  ReleaseSession: [95, "void", "void *"],
  SessionGetInputCount: [30, "void *", "void *", "void *"],
  SessionGetOutputCount: [31, "void *", "void *", "void *"],
  SessionGetOverridableInitializerCount: [32, "void *", "void *", "void *"],
  SessionGetOverridableInitializerTypeInfo: [35, "void *", "void *", "size_t", "void *"],
  SessionGetOverridableInitializerName: [38, "void *", "void *", "size_t", "void *", "void *"],
  SessionGetInputName: [36, "void *", "void *", "size_t", "void *", "void *"],
  SessionGetOutputName: [37, "void *", "void *", "size_t", "void *", "void *"],
  SessionGetInputTypeInfo: [33, "void *", "void *", "size_t", "void *"],
  SessionGetOutputTypeInfo: [34, "void *", "void *", "size_t", "void *"],

  GetOnnxTypeFromTypeInfo: [56, "void *", "void *", "void *"],
  CastTypeInfoToTensorInfo: [55, "void *", "void *", "void *"],
  CastTypeInfoToSequenceTypeInfo: [104, "void *", "void *", "void *"],
  GetSequenceElementType: [107, "void *", "void *", "void *"],
  CastTypeInfoToOptionalTypeInfo: [250, "void *", "void *", "void *"],
  GetOptionalContainedTypeInfo: [251, "void *", "void *", "void *"],
  CastTypeInfoToMapTypeInfo: [103, "void *", "void *", "void *"],
  GetMapKeyType: [105, "void *", "void *", "void *"],
  GetMapValueType: [106, "void *", "void *", "void *"],
  ReleaseTypeInfo: [98, "void", "void *"],
  GetTensorElementType: [60, "void *", "void *", "void *"],
  GetDimensionsCount: [61, "void *", "void *", "void *"],
  GetDimensions: [62, "void *", "void *", "void *", "size_t"],
  GetSymbolicDimensions: [63, "void *", "void *", "void *", "size_t"],
  ReleaseTensorTypeAndShapeInfo: [99, "void", "void *"],

  SessionGetModelMetadata: [111, "void *", "void *", "void *"],
  ModelMetadataGetCustomMetadataMapKeys: [123, "void *", "void *", "void *", "void *", "void *"],
  ModelMetadataLookupCustomMetadataMap: [116, "void *", "void *", "void *", "str", "void *"],
  ReleaseModelMetadata: [118, "void", "void *"],

  GetAllocatorWithDefaultOptions: [78, "void *", "void *"],
  AllocatorFree: [76, "void *", "void *", "void *"],
  CreateCpuMemoryInfo: [69, "void *", "int", "int", "void *"],

  CreateTensorAsOrtValue: [48, "void *", "void *", "void *", "size_t", "int", "void *"],
  CreateTensorWithDataAsOrtValue: [49, "void *", "void *", "void *", "size_t", "void *", "size_t", "int", "void *"],
  FillStringTensor: [52, "void *", "void *", "void *", "size_t"],
  GetResizedStringTensorElementBuffer: [252, "void *", "void *", "size_t", "size_t", "void *"],
  GetTensorTypeAndShape: [65, "void *", "void *", "void *"],
  GetTensorMutableData: [51, "void *", "void *", "void *"],
  GetStringTensorDataLength: [53, "void *", "void *", "void *"],
  GetStringTensorContent: [54, "void *", "void *", "void *", "size_t", "void *", "size_t"],
  GetValueType: [67, "void *", "void *", "void *"],
  HasValue: [192, "void *", "void *", "void *"],
  CreateValue: [82, "void *", "void *", "size_t", "int", "void *"],
  GetValueCount: [81, "void *", "void *", "void *"],
  GetValue: [80, "void *", "void *", "int", "void *", "void *"],
  ReleaseValue: [96, "void", "void *"],

  CreateRunOptions: [39, "void *", "void *"],
  RunOptionsSetTerminate: [46, "void *", "void *"],
  ReleaseRunOptions: [97, "void", "void *"],
  Run: [9, "void *", "void *", "void *", "void *", "void *", "size_t", "void *", "size_t", "void *"],
} as const;

/** The first version of the API that says which provider runs an operator, with the functions for that. */
export const ASSIGNMENT_VERSION = 24;
export const ASSIGNMENT_API = {
  Session_GetEpGraphAssignmentInfo: [407, "void *", "void *", "void *", "void *"],
  EpAssignedSubgraph_GetEpName: [408, "void *", "void *", "void *"],
  EpAssignedSubgraph_GetNodes: [409, "void *", "void *", "void *", "void *"],
  EpAssignedNode_GetOperatorType: [412, "void *", "void *", "void *"],
} as const;

/** Functions of {@link ASSIGNMENT_API}. */
export type AssignmentApi = PlacedFunctions<typeof ASSIGNMENT_API>;

/** ONNX Runtime's library, opened. */
export type OnnxApi = PlacedFunctions<typeof C_API>;
