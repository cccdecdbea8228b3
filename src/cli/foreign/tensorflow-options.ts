import { readFile } from "node:fs/promises";
import type { RawOptions } from "../../drivers/option-table.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { readConfigFile } from "../../repository/config/read-config-file.ts";
import { batchingOptions } from "../../repository/formats/tensorflow-serving.ts";
import { readProblem } from "../../text/read-problem.ts";

type Values = ReadonlyMap<string, string>;

/**
 * Throws `invalid_argument`, in the original's words, for flags of `tensorflow_model_server` that do not go together.
 */
export function checkTensorflowFlags(values: Values): void {
  if (Number(values.get("port") ?? 1) === 0 && !has(values, "grpc_socket_path"))
    throw invalidArgument("At least one of server_options.grpc_port or server_options.grpc_socket_path must be set.");
  if (!has(values, "model_base_path") && !has(values, "model_config_file"))
    throw invalidArgument("Both server_options.model_base_path and server_options.model_config_file are empty!");
  if (has(values, "batching_parameters_file") && values.get("enable_batching") !== "true")
    throw invalidArgument(
      "server_options.batching_parameters_file is set without setting server_options.enable_batching to true.",
    );
  const threads = ["intra_op", "inter_op", "session"].map((kind) => threadsOf(values, kind));
  if (threads.every((count) => count > 0))
    throw invalidArgument(
      "Either configure server_options.tensorflow_session_parallelism or (server_options.tensorflow_intra_op_parallelism, server_options.tensorflow_inter_op_parallelism) separately. You cannot configure all.",
    );
}

/** Options that files say, and what these files say that changes nothing here. */
interface FileOptions {
  readonly options: RawOptions;
  readonly warnings: readonly string[];
}

/** The `-o` options of flags that name a file, or stand for several options. */
export async function readTensorflowOptions(values: Values): Promise<FileOptions> {
  const sessionConfig = values.get("tensorflow_session_config_file") ?? "";
  const batching = await readBatching(values);
  const options = {
    ...parallelism(values),
    ...batching.options,
    ...(sessionConfig !== "" && { session_config: await readText(sessionConfig) }),
  };
  return { options, warnings: batching.warnings };
}

/** It counts where neither of the other two does. */
function parallelism(values: Values): RawOptions {
  const threads = threadsOf(values, "session");
  if (threads <= 0 || threadsOf(values, "intra_op") > 0 || threadsOf(values, "inter_op") > 0) return {};
  return { intra_op_threads: String(threads), inter_op_threads: String(threads) };
}

async function readBatching(values: Values): Promise<FileOptions> {
  if (values.get("enable_batching") !== "true") return { options: {}, warnings: [] };
  const isPerVersion = values.get("enable_per_model_batching_parameters") === "true";
  const path = values.get("batching_parameters_file") ?? "";
  if (path === "") return { options: isPerVersion ? {} : batchingOptions({}), warnings: [] };
  const { batching: options, format, warnings } = await readConfigFile(path, []);
  if (options !== undefined) return { options: isPerVersion ? {} : options, warnings };
  throw invalidArgument(
    `${path} is ${format}; expected a batching_parameters_file, such as max_batch_size { value: 32 }.`,
  );
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw failedPrecondition(`${path} ${readProblem(reason)}; expected a ConfigProto in text form.`, reason);
  }
}

function threadsOf(values: Values, kind: string): number {
  return Number(values.get(`tensorflow_${kind}_parallelism`) ?? 0);
}

function has(values: Values, name: string): boolean {
  return (values.get(name) ?? "") !== "";
}
