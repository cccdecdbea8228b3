import { create, type Message, mergeFromJson, toBinary } from "@bufbuild/protobuf";
import { mergeFromText } from "@bufbuild/protobuf/txtpb";
import { invalidArgument, reasonText } from "../../../errors.ts";
import type { Logger } from "../../../observability/logger.ts";
import { claimForProcess } from "../../../platform/native/process-environment.ts";
import type { TensorflowOptions } from "../engine.ts";
import { messageSchema } from "../saved-model/tensorflow-messages.ts";

/** The parts of TensorFlow's ConfigProto that are read here. */
interface SessionConfig extends Message {
  intraOpParallelismThreads: number;
  interOpParallelismThreads: number;
}

type ConfigOptions = Pick<
  TensorflowOptions,
  "session_config" | "intra_op_threads" | "inter_op_threads" | "gpu_memory_fraction" | "allow_soft_placement" | "xla"
>;

/** Simple TensorFlow Serving's further GPU options. */
const GPU_SHORTHANDS = ["allow_growth", "per_process_gpu_memory_fraction", "visible_device_list"];

const schema = () => messageSchema("ConfigProto");

/**
 * Configuration by the options, with `fuses` false without fused layers, then by `session_config`; throws
 * `invalid_argument` for one that cannot be read.
 */
export function createSessionConfig(options: ConfigOptions, fuses = true): SessionConfig {
  const config = mergeFromJson(schema(), create(schema()), toJson(options, fuses));
  if (options.session_config) merge(config, options.session_config.trim());
  return config as SessionConfig;
}

/** Its bytes. */
export function encodeSessionConfig(config: SessionConfig): Uint8Array {
  return toBinary(schema(), config);
}

function toJson(options: ConfigOptions, fuses: boolean): JsonRecord {
  const { gpu_memory_fraction: fraction, xla } = options;
  return {
    intra_op_parallelism_threads: options.intra_op_threads,
    inter_op_parallelism_threads: options.inter_op_threads,
    allow_soft_placement: options.allow_soft_placement,
    ...(fraction > 0 && { gpu_options: { per_process_gpu_memory_fraction: fraction } }),
    graph_options: {
      ...(xla && { optimizer_options: { global_jit_level: "ON_1", cpu_global_jit: true } }),
      ...(!fuses && { rewrite_options: { remapping: "OFF" } }),
    },
  };
}

type JsonRecord = { [key: string]: string | number | boolean | JsonRecord };

function merge(config: Message, text: string): void {
  try {
    if (text.startsWith("{")) mergeFromJson(schema(), config, withoutShorthands(JSON.parse(text)));
    else mergeFromText(schema(), config, text);
  } catch (cause) {
    const reason = reasonText(cause).replace(/^cannot decode message tensorflow\.\w+ from (JSON|text): /, "");
    const message = `Option "session_config" is not TensorFlow's ConfigProto: ${reason}. Expected JSON such as {"log_device_placement": true}, or text such as log_device_placement: true.`;
    throw invalidArgument(message, cause);
  }
}

function withoutShorthands(json: JsonRecord): JsonRecord {
  const entries = Object.entries(json);
  const short = entries.filter(([key]) => GPU_SHORTHANDS.includes(key));
  if (short.length === 0) return json;
  const rest = Object.fromEntries(entries.filter(([key]) => !GPU_SHORTHANDS.includes(key)));
  return { ...rest, gpu_options: { ...(json.gpu_options as JsonRecord | undefined), ...Object.fromEntries(short) } };
}

/** Threads of TensorFlow's two pools. */
interface ThreadPools {
  readonly intra: number;
  readonly inter: number;
}

/**
 * Sets the pools' sizes if the configuration does not. TensorFlow makes its pools for the whole process, with the
 * first session: the log says so when an earlier model has decided otherwise.
 */
export function claimThreadPools(config: SessionConfig, defaults: ThreadPools, log: Logger): void {
  config.intraOpParallelismThreads ||= defaults.intra;
  config.interOpParallelismThreads ||= defaults.inter;
  const wanted = `${config.intraOpParallelismThreads} within operators, ${config.interOpParallelismThreads} across them`;
  const actual = claimForProcess("KSERVING_TENSORFLOW_POOLS", wanted);
  if (actual !== wanted)
    log.warn("TensorFlow's threads are those of the first model of the process", { wanted, actual });
}
