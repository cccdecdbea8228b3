import type { Server } from "./server/server.ts";
import type { ServerOptions } from "./server/server-options.ts";

export {
  DEFAULT_SIGNATURE,
  type Dimension,
  type Driver,
  type DriverHost,
  defineDriver,
  type Model,
  type PartsModel,
  type PredictCall,
  type Signature,
  type TensorSpec,
} from "./drivers/driver.ts";
export type { OptionSpec, OptionTable } from "./drivers/option-table.ts";
export { type ErrorCode, type ErrorDetail, ServingError, STATUS } from "./errors.ts";
export {
  type AnyHooks,
  defineHooks,
  type Hook,
  type HookArgs,
  type HookContext,
  type HookSlots,
  type Hooks,
  type InitContext,
  type InitParams,
  type LoadedModel,
  type RawRoute,
  type RemoteHandle,
  type StageHandle,
} from "./hooks/hooks.ts";
export type { InferenceContext, InferenceData, InferenceResponse } from "./hooks/inference-handlers.ts";
export type {
  ImageAnswer,
  ImageRequest,
  SpeakAnswer,
  SpeakRequest,
  TranscribePart,
  TranscribeRequest,
} from "./hooks/media-request.ts";
export type { RawAnswer, RawEvent, RawPart, RawParts, RawRequest } from "./hooks/raw-request.ts";
export type {
  ChatContent,
  ChatMessage,
  ChatPart,
  ChatRequest,
  ChatTool,
  CompletionPart,
  CompletionRequest,
  EmbedAnswer,
  EmbedRequest,
  RerankAnswer,
  RerankRequest,
} from "./hooks/text-request.ts";
export { type ModelInputOptions, toModelInput } from "./models/images/to-model-input.ts";
export { createLogger, type Logger } from "./observability/logger.ts";
export type { NamedModelOptions } from "./server/named-model.ts";
export type { PredictChoices } from "./server/predict.ts";
export type { ServedVersion } from "./server/served-version.ts";
export type { Server } from "./server/server.ts";
export type { ServerOptions } from "./server/server-options.ts";
export type { StageOptions } from "./serving/repository/stage.ts";
export { argmax, softmax, type TopK, topK } from "./tensor/along-axis.ts";
export { type CtcOptions, type CtcSequence, ctcGreedyDecode } from "./tensor/ctc-greedy-decode.ts";
export type { DType, TensorData } from "./tensor/dtype.ts";
export { toNested } from "./tensor/elements.ts";
export { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "./tensor/float16.ts";
export { type DecodeOptions, decodeImage } from "./tensor/media/decode-image.ts";
export { drawBoxes, type EncodeOptions, encodeImage, type LabelledBox } from "./tensor/media/encode-image.ts";
export type { ImageTensor } from "./tensor/media/image-tensor.ts";
export type { Point } from "./tensor/media/projection.ts";
export { boxCorners, minAreaBox, type RotatedBox } from "./tensor/media/projection.ts";
export {
  type CropBox,
  type CropQuadOptions,
  cropImage,
  cropQuad,
  type Edges,
  type Letterbox,
  type LetterboxOptions,
  letterboxOf,
  type ResizeOptions,
  resizeImage,
} from "./tensor/media/resize-image.ts";
export { nonMaxSuppression, type SuppressionOptions } from "./tensor/non-max-suppression.ts";
export type { PlainValue, Values } from "./tensor/plain-value.ts";
export { type TensorOfOptions, tensorOf } from "./tensor/plain-value.ts";
export { createTensor, type Tensor, type Tensors, transfer } from "./tensor/tensor.ts";

/**
 * Loads models and hooks, then listens; rejects, before any port opens, with what does
 * not load. Installs no signal handlers and never ends the process. The server itself
 * is imported here, since hook files import this module for little things.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const server = await import("./server/server.ts");
  return server.createServer(options);
}
