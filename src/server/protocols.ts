import { anthropic } from "../protocols/anthropic/anthropic.ts";
import { functions } from "../protocols/functions/functions.ts";
import { grpcHealth, grpcReflection } from "../protocols/grpc-standard/grpc-standard.ts";
import { httpHealth } from "../protocols/http-standard/http-standard.ts";
import { kibernetika } from "../protocols/kibernetika/kibernetika.ts";
import { kserve } from "../protocols/kserve/kserve.ts";
import { kserveV1 } from "../protocols/kserve-v1/kserve-v1.ts";
import { mcp } from "../protocols/mcp/mcp.ts";
import { ollama } from "../protocols/ollama/ollama.ts";
import { openai } from "../protocols/openai/openai.ts";
import { page } from "../protocols/page/page.ts";
import { prometheus } from "../protocols/prometheus/prometheus.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { sagemaker } from "../protocols/sagemaker/sagemaker.ts";
import { simpleTensorflowServing } from "../protocols/simple-tensorflow-serving/simple-tensorflow-serving.ts";
import { tensorflowServing } from "../protocols/tensorflow-serving/tensorflow-serving.ts";

/** The protocols that every server speaks. Over HTTP, the first one that knows a URL answers it. */
export const PROTOCOLS: readonly Protocol[] = [
  // Takes the requests of browsers for / alone.
  page,
  kibernetika,
  ollama,
  // These before the owner of all other URLs under /v1/.
  anthropic,
  openai,
  kserveV1,
  simpleTensorflowServing,
  tensorflowServing,
  kserve,
  functions,
  grpcHealth,
  grpcReflection,
  httpHealth,
  prometheus,
  sagemaker,
  mcp,
];
